/*
 * Prints the spoken words in samples of 16 bits from standard input, while they arrive:
 *
 *	go build -buildmode=c-shared -o libs4d.so ./capi
 *	cc -o example capi/example/example.c -Icapi -L. -ls4d -Wl,-rpath,'$ORIGIN'
 *	arecord -q -t raw -f S16_LE -r 8000 -c 1 | ./example digits
 *
 * The argument is a built-in model or a model file. Record at the sampling rate of the model. Each line
 * of the output is an event: first sample, exclusive end, label, confidence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "s4d.h"

static void check(s4d_status status) {
	if (status == S4D_OK) return;
	fprintf(stderr, "example: %s (status %" PRId32 ")\n", s4d_error(), status);
	exit(1);
}

static void print(s4d_model model, const s4d_event *events, size_t count) {
	for (size_t i = 0; i < count; i++) {
		char label[64];
		check(s4d_model_label(model, events[i].label, label, sizeof label, NULL));
		printf("%" PRId64 " %" PRId64 " %s %.17g\n", events[i].onset, events[i].end, label, events[i].confidence);
	}
	if (fflush(stdout) != 0) {
		perror("example: standard output");
		exit(1);
	}
}

int main(int argc, char **argv) {
	if (argc != 2) {
		fputs("usage: example MODEL <AUDIO\n", stderr);
		return 2;
	}
	if (s4d_abi() != S4D_ABI) {
		fputs("example: the header is not that of the library\n", stderr);
		return 1;
	}
	s4d_model model;
	if (s4d_model_builtin(argv[1], &model) != S4D_OK) check(s4d_model_load(argv[1], &model));
	s4d_stream stream;
	check(s4d_stream_create(model, &stream));

	enum { block = 160, room = 8 };
	unsigned char bytes[2 * block];
	float samples[block];
	s4d_event events[room];
	size_t n, count;
	while ((n = fread(bytes, 2, block, stdin)) > 0) {
		for (size_t i = 0; i < n; i++) samples[i] = (float)(int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8) / 32768;
		check(s4d_stream_process(stream, samples, n, events, room, &count));
		for (;;) {
			print(model, events, count);
			if (count < room) break;
			check(s4d_stream_process(stream, NULL, 0, events, room, &count)); /* the rest */
		}
	}
	check(s4d_stream_flush(stream, events, room, &count));
	print(model, events, count);
	check(s4d_stream_destroy(stream));
	check(s4d_model_destroy(model));
	return 0;
}
