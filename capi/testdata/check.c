/*
 * Tests of the library from C, which end the process with status 1 after an error:
 *
 *	check cycles N      creates, uses and destroys N streams; prints the resident memory in kB before and after
 *	check abuse MODEL   calls every function with handles, pointers, lengths and files that are wrong
 *	check threads N     N threads share a model, destroy streams that others use, and compete for one
 *	check cost          prints the time per call
 *	check leak          loses memory of its own, to test the test that looks for lost memory
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "s4d.h"

enum { rate = 8000, seconds = 4 };
static float sound[rate * seconds];

static void fail_at(int line, const char *what, s4d_status got) {
	fprintf(stderr, "check.c:%d: %s: status %" PRId32 ": %s\n", line, what, got, s4d_error());
	exit(1);
}

#define RETURNS(want, call)                                \
	do {                                                     \
		s4d_status got_ = (call);                              \
		if (got_ != (want)) fail_at(__LINE__, #call, got_);    \
	} while (0)
#define OK(call) RETURNS(S4D_OK, call)
#define THAT(condition)                                    \
	do {                                                     \
		if (!(condition)) fail_at(__LINE__, #condition, 0);    \
	} while (0)

static long resident(void) {
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	THAT(f && fscanf(f, "%*d %ld", &pages) == 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* sensitive creates a model with a low threshold, so that the sound makes events. */
static s4d_model sensitive(void) {
	s4d_model model, changed;
	s4d_options options;
	OK(s4d_model_builtin("digits", &model));
	OK(s4d_model_get_options(model, &options));
	options.threshold = options.off_threshold = 0.01;
	options.refractory = 0;
	options.smoothing = 0.05;
	options.confirm = 1;
	OK(s4d_model_with_options(model, &options, &changed));
	OK(s4d_model_destroy(model));
	return changed;
}

static void cycle(s4d_model model) {
	s4d_stream stream;
	s4d_event events[4];
	size_t count;
	OK(s4d_stream_create(model, &stream));
	OK(s4d_stream_process(stream, sound, 400, events, 4, &count));
	OK(s4d_stream_destroy(stream));
}

static void cycles(int n) {
	s4d_model model;
	OK(s4d_model_builtin("digits", &model));
	for (int i = 0; i < n && i < 1000; i++) cycle(model); /* until the garbage collector has a rhythm */
	long before = resident();
	for (int i = 0; i < n; i++) {
		cycle(model);
		if (i % 1000 == 0) { /* a model costs more */
			s4d_model other;
			OK(s4d_model_builtin("digits", &other));
			OK(s4d_model_destroy(other));
		}
	}
	printf("%ld %ld\n", before, resident());
}

static void wrong_handles(s4d_model model, s4d_stream stream) {
	s4d_stream gone, s;
	s4d_model m;
	s4d_options options;
	s4d_model_info info;
	s4d_event e[2];
	float p[32];
	char text[64];
	size_t n;
	int64_t at;
	OK(s4d_stream_create(model, &gone));
	OK(s4d_stream_destroy(gone));
	OK(s4d_model_get_options(model, &options));
	const uint64_t wild[] = {0, gone, gone + 1, UINT64_MAX, (uint64_t)(uintptr_t)&m, 0x7fffffff, 1ull << 63};
	for (size_t i = 0; i <= sizeof wild / sizeof *wild; i++) {
		/* The last of each is a handle of the other kind. */
		uint64_t h = i < sizeof wild / sizeof *wild ? wild[i] : model;
		RETURNS(S4D_ERR_HANDLE, s4d_stream_process(h, sound, 8, e, 2, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_flush(h, e, 2, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_skip(h, 1, e, 2, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_pending(h, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_position(h, &at));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_posterior(h, p, 32, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_reset(h));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_snapshot(h, NULL, 0, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_restore(h, text, 8));
		RETURNS(S4D_ERR_HANDLE, s4d_stream_destroy(h));
		if (i == sizeof wild / sizeof *wild) h = stream;
		RETURNS(S4D_ERR_HANDLE, s4d_stream_create(h, &s));
		THAT(s == 0);
		RETURNS(S4D_ERR_HANDLE, s4d_model_get_options(h, &options));
		RETURNS(S4D_ERR_HANDLE, s4d_model_with_options(h, &options, &m));
		RETURNS(S4D_ERR_HANDLE, s4d_model_get_info(h, &info));
		RETURNS(S4D_ERR_HANDLE, s4d_model_label(h, 0, text, 64, &n));
		RETURNS(S4D_ERR_HANDLE, s4d_model_destroy(h));
	}
}

static void wrong_pointers(s4d_model model, s4d_stream stream) {
	s4d_model m;
	s4d_event e[2];
	float p[32];
	char text[64];
	size_t n;
	s4d_options options;
	const s4d_status bad = S4D_ERR_ARGUMENT;
	RETURNS(bad, s4d_model_builtin(NULL, &m));
	THAT(strstr(s4d_error(), "name is NULL"));
	RETURNS(bad, s4d_model_builtin("digits", NULL));
	RETURNS(bad, s4d_model_builtin("abacus", &m));
	THAT(m == 0 && strstr(s4d_error(), "digits"));
	RETURNS(bad, s4d_model_load(NULL, &m));
	RETURNS(bad, s4d_model_load("x", NULL));
	RETURNS(bad, s4d_model_read(NULL, 8, &m));
	RETURNS(bad, s4d_model_read(text, 8, NULL));
	RETURNS(bad, s4d_model_read(text, SIZE_MAX, &m));
	RETURNS(S4D_ERR_MODEL, s4d_model_read(NULL, 0, &m));
	RETURNS(bad, s4d_model_get_options(model, NULL));
	RETURNS(bad, s4d_model_with_options(model, NULL, &m));
	OK(s4d_model_get_options(model, &options));
	RETURNS(bad, s4d_model_with_options(model, &options, NULL));
	options.threshold = NAN;
	RETURNS(bad, s4d_model_with_options(model, &options, &m));
	RETURNS(bad, s4d_model_get_info(model, NULL));
	RETURNS(bad, s4d_model_label(model, 0, NULL, 9, &n));
	RETURNS(bad, s4d_model_label(model, 0, text, SIZE_MAX, &n));
	RETURNS(bad, s4d_model_label(model, -1, text, 64, &n));
	RETURNS(bad, s4d_model_label(model, 1000, text, 64, NULL));
	RETURNS(S4D_ERR_SPACE, s4d_model_label(model, 0, text, 1, &n));
	THAT(n == 1);
	RETURNS(S4D_ERR_SPACE, s4d_model_label(model, 0, NULL, 0, NULL));
	OK(s4d_model_label(model, 0, text, 2, &n));
	RETURNS(bad, s4d_stream_create(model, NULL));
	RETURNS(bad, s4d_stream_process(stream, NULL, 8, e, 2, &n));
	RETURNS(bad, s4d_stream_process(stream, sound, 8, NULL, 2, &n));
	RETURNS(bad, s4d_stream_process(stream, sound, 8, e, 2, NULL));
	RETURNS(bad, s4d_stream_process(stream, sound, SIZE_MAX, e, 2, &n));
	RETURNS(bad, s4d_stream_process(stream, sound, S4D_MAX_SAMPLES + 1, e, 2, &n));
	RETURNS(bad, s4d_stream_process(stream, sound, 8, e, SIZE_MAX, &n));
	RETURNS(bad, s4d_stream_flush(stream, NULL, 1, &n));
	RETURNS(bad, s4d_stream_flush(stream, e, 2, NULL));
	RETURNS(bad, s4d_stream_skip(stream, -1, e, 2, &n));
	RETURNS(bad, s4d_stream_skip(stream, INT64_MAX, e, 2, &n));
	RETURNS(bad, s4d_stream_skip(stream, 1, e, 2, NULL));
	RETURNS(bad, s4d_stream_pending(stream, NULL));
	RETURNS(bad, s4d_stream_position(stream, NULL));
	RETURNS(bad, s4d_stream_posterior(stream, NULL, 3, &n));
	RETURNS(bad, s4d_stream_posterior(stream, p, 32, NULL));
	RETURNS(bad, s4d_stream_snapshot(stream, NULL, 3, &n));
	RETURNS(bad, s4d_stream_snapshot(stream, text, 3, NULL));
	RETURNS(bad, s4d_stream_restore(stream, NULL, 3));
	RETURNS(bad, s4d_stream_restore(stream, text, SIZE_MAX));
	RETURNS(S4D_ERR_SNAPSHOT, s4d_stream_restore(stream, NULL, 0));
	OK(s4d_stream_process(stream, NULL, 0, NULL, 0, &n));

	/* Samples where there is no memory: an error, and the stream must be reset. */
	RETURNS(S4D_ERR_INTERNAL, s4d_stream_process(stream, (const float *)(uintptr_t)64, 800, e, 2, &n));
	RETURNS(S4D_ERR_INTERNAL, s4d_stream_process(stream, sound, 800, e, 2, &n));
	THAT(strstr(s4d_error(), "reset"));
	OK(s4d_stream_reset(stream));
	RETURNS(S4D_ERR_INTERNAL, s4d_stream_process(stream, (const float *)(uintptr_t)0x123456789000, 800, e, 2, &n));
	OK(s4d_stream_reset(stream));
}

/* damaged changes and truncates the bytes of a model and of a snapshot. */
static void damaged(s4d_stream stream, const char *path) {
	s4d_model m;
	size_t size;
	RETURNS(S4D_ERR_SPACE, s4d_stream_snapshot(stream, NULL, 0, &size));
	unsigned char *bytes = malloc(size);
	OK(s4d_stream_snapshot(stream, bytes, size, &size));
	for (size_t i = 0; i < size; i += 1 + size / 500) {
		RETURNS(S4D_ERR_SNAPSHOT, s4d_stream_restore(stream, bytes, i));
		bytes[i] ^= 0x55;
		RETURNS(S4D_ERR_SNAPSHOT, s4d_stream_restore(stream, bytes, size));
		bytes[i] ^= 0x55;
	}
	OK(s4d_stream_restore(stream, bytes, size));
	free(bytes);

	RETURNS(S4D_ERR_MODEL, s4d_model_load("/nonexistent", &m));
	RETURNS(S4D_ERR_MODEL, s4d_model_load("/dev/zero", &m));
	RETURNS(S4D_ERR_MODEL, s4d_model_load("/", &m));
	FILE *f = fopen(path, "rb");
	THAT(f && fseek(f, 0, SEEK_END) == 0);
	size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(size);
	THAT(fread(bytes, 1, size, f) == size);
	fclose(f);
	for (size_t i = 0; i < 40; i++) {
		size_t at = i < 20 ? i * 50 : i * (size / 40);
		RETURNS(S4D_ERR_MODEL, s4d_model_read(bytes, at, &m));
		bytes[at] ^= 0x55;
		RETURNS(S4D_ERR_MODEL, s4d_model_read(bytes, size, &m));
		bytes[at] ^= 0x55;
	}
	OK(s4d_model_read(bytes, size, &m));
	OK(s4d_model_destroy(m));
	OK(s4d_model_load(path, &m));
	OK(s4d_model_destroy(m));
	free(bytes);
}

/* forked calls the library in a child process. */
static void forked(s4d_model model, s4d_stream stream) {
	pid_t child = fork();
	if (child == 0) {
		s4d_stream s;
		size_t n;
		RETURNS(S4D_ERR_FORKED, s4d_stream_create(model, &s));
		RETURNS(S4D_ERR_FORKED, s4d_stream_process(stream, sound, 800, NULL, 0, &n));
		THAT(strstr(s4d_error(), "fork"));
		_exit(0);
	}
	int status;
	THAT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void abuse(const char *path) {
	s4d_model model = sensitive();
	s4d_stream stream;
	s4d_event e[3];
	size_t n, total, rest;
	OK(s4d_stream_create(model, &stream));
	wrong_handles(model, stream);
	wrong_pointers(model, stream);
	damaged(stream, path);
	forked(model, stream);

	/* Events that find no room wait, and nothing is lost. */
	OK(s4d_stream_process(stream, sound, rate * seconds, NULL, 0, &n));
	THAT(n == 0);
	OK(s4d_stream_flush(stream, NULL, 0, &n));
	OK(s4d_stream_pending(stream, &total));
	THAT(total > 3);
	RETURNS(S4D_ERR_PENDING, s4d_stream_snapshot(stream, NULL, 0, &n));
	RETURNS(S4D_ERR_PENDING, s4d_stream_restore(stream, e, 3));
	for (size_t got = 0; got < total; got += n) {
		OK(s4d_stream_process(stream, NULL, 0, e, 3, &n));
		THAT(n > 0 && e[0].onset < e[0].end && e[0].end <= rate * seconds);
		OK(s4d_stream_pending(stream, &rest));
		THAT(got + n + rest == total);
	}
	OK(s4d_model_destroy(model)); /* before its stream */
	OK(s4d_stream_process(stream, sound, 800, e, 3, &n));
	OK(s4d_stream_destroy(stream));
}

/* Threads: each compares the events of its own streams with those of the first, and all compete for
 * one stream. */
static s4d_model shared;
static s4d_stream contended;
static s4d_event expected[64];
static size_t expected_count;
static _Atomic int busy, served;

static size_t events_of(s4d_event *events, size_t block) {
	s4d_stream stream;
	size_t total = 0, n;
	OK(s4d_stream_create(shared, &stream));
	for (size_t at = 0; at < rate * seconds; at += block) {
		size_t length = rate * seconds - at < block ? rate * seconds - at : block;
		OK(s4d_stream_process(stream, sound + at, length, events + total, 64 - total, &n));
		total += n;
	}
	OK(s4d_stream_flush(stream, events + total, 64 - total, &n));
	OK(s4d_stream_destroy(stream));
	return total + n;
}

static void *worker(void *number) {
	size_t k = (size_t)(uintptr_t)number;
	for (int i = 0; i < 4; i++) {
		s4d_event got[64];
		memset(got, 0, sizeof got);
		THAT(events_of(got, 100 + 37 * k + 500 * i) == expected_count);
		THAT(memcmp(got, expected, sizeof got) == 0);
		for (int j = 0; j < 50; j++) {
			size_t n;
			s4d_status s = s4d_stream_process(contended, sound, 400, got, 64, &n);
			if (s == S4D_OK) served++;
			else if (s == S4D_ERR_BUSY) busy++;
			else if (s != S4D_ERR_HANDLE) /* a faster thread has destroyed it */
				fail_at(__LINE__, "a stream that others use", s);
		}
	}
	/* Every thread destroys it until one succeeds. */
	for (;;) {
		s4d_status s = s4d_stream_destroy(contended);
		if (s == S4D_OK || s == S4D_ERR_HANDLE) return (void *)(uintptr_t)(s == S4D_OK);
		if (s != S4D_ERR_BUSY && s != S4D_ERR_HANDLE) fail_at(__LINE__, "s4d_stream_destroy", s);
	}
}

static void threads(int n) {
	pthread_t list[64];
	THAT(n > 1 && n <= 64);
	shared = sensitive();
	expected_count = events_of(expected, 800);
	THAT(expected_count > 3 && expected_count < 64);
	OK(s4d_stream_create(shared, &contended));
	for (int i = 0; i < n; i++) THAT(pthread_create(&list[i], NULL, worker, (void *)(uintptr_t)i) == 0);
	int destroyed = 0;
	for (int i = 0; i < n; i++) {
		void *result;
		THAT(pthread_join(list[i], &result) == 0);
		destroyed += (int)(uintptr_t)result;
	}
	THAT(destroyed == 1);
	OK(s4d_model_destroy(shared));
	printf("%d served, %d busy\n", served, busy);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

#define COST(what, times, call)                                                   \
	do {                                                                            \
		double began = now();                                                         \
		for (int i = 0; i < (times); i++) OK(call);                                   \
		printf("%-44s %10.0f ns\n", what, (now() - began) / (times) * 1e9);           \
	} while (0)

static s4d_status create_and_destroy(s4d_model model) {
	s4d_stream stream;
	OK(s4d_stream_create(model, &stream));
	return s4d_stream_destroy(stream);
}

static void cost(void) {
	s4d_model model;
	s4d_stream stream;
	s4d_event e[8];
	size_t n;
	int64_t at;
	OK(s4d_model_builtin("digits", &model));
	OK(s4d_stream_create(model, &stream));
	printf("level %s\n", s4d_level());
	COST("s4d_stream_position", 1000000, s4d_stream_position(stream, &at));
	COST("s4d_stream_process of 0 samples", 1000000, s4d_stream_process(stream, NULL, 0, e, 8, &n));
	COST("s4d_stream_process of 1 sample", 100000, s4d_stream_process(stream, sound, 1, e, 8, &n));
	COST("s4d_stream_process of 160 samples, a frame", 5000, s4d_stream_process(stream, sound + i % 100 * 160, 160, e, 8, &n));
	COST("s4d_stream_process of 8000 samples, a second", 100, s4d_stream_process(stream, sound, 8000, e, 8, &n));
	COST("s4d_stream_create and _destroy", 2000, create_and_destroy(model));
}

int main(int argc, char **argv) {
	uint32_t state = 1;
	for (int i = 0; i < rate * seconds; i++) { /* noise that is switched on and off, under a gliding tone */
		state = state * 1664525 + 1013904223;
		float noise = (float)(int32_t)state / 2147483648.0f, t = (float)i / rate;
		sound[i] = i / 1500 % 3 ? 0.1f * noise + 0.4f * sinf(6.2831853f * (300 + 150 * t) * t) : 0.001f * noise;
	}
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "cycles") && argc == 3) cycles(atoi(argv[2]));
	else if (!strcmp(what, "abuse") && argc == 3) abuse(argv[2]);
	else if (!strcmp(what, "threads") && argc == 3) threads(atoi(argv[2]));
	else if (!strcmp(what, "cost")) cost();
	else if (!strcmp(what, "leak")) THAT(resident() > 0 && malloc(1 << 20));
	else return 2;
	return 0;
}
