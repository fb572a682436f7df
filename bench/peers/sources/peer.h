// A peer reads requests from standard input, one per line:
//
//	op threads n L H M m k B layers seconds
//
// Sizes that an operation does not have are 0. The reply is a line with the nanoseconds of one unit of the
// operation, measured for about that many seconds, or 0 if the peer does not support it. A request equal to
// the previous one reuses what that prepared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct request {
	char op[16];
	int threads, n, L, H, M, m, k, B, layers;
};

// prepare prepares run and returns how many units one run computes, or 0.
static int prepare(const struct request *r);
static void run(void);

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double time_of(long calls) {
	double begin = now();
	for (long i = 0; i < calls; i++) run();
	return now() - begin;
}

static void *floats(size_t n) {
	void *p = aligned_alloc(64, (4 * n + 63) / 64 * 64);
	if (!p) exit(1);
	memset(p, 0, 4 * n);
	return p;
}

int main(void) {
	struct request r, last = {0};
	double seconds;
	char line[256];
	long calls = 1;
	int units = 0;
	while (fgets(line, sizeof line, stdin)) {
		memset(&r, 0, sizeof r);
		if (sscanf(line, "%15s %d %d %d %d %d %d %d %d %d %lf", r.op, &r.threads, &r.n, &r.L, &r.H, &r.M, &r.m, &r.k, &r.B, &r.layers, &seconds) != 11) return 2;
		if (memcmp(&r, &last, sizeof r)) {
			last = r;
			units = r.threads == 1 ? prepare(&r) : 0;
			calls = 1;
			for (double took = 0; units && took < seconds / 4; calls = took > seconds / 4 ? calls * seconds / took + 1 : 4 * calls) took = time_of(calls);
		}
		printf("%.6g\n", units ? 1e9 * time_of(calls) / calls / units : 0.0);
		fflush(stdout);
	}
	return 0;
}
