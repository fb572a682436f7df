// FFTW in single precision, PATIENT plans: complex transforms, and causal convolutions of one row by real
// transforms of twice its length with a precomputed spectrum of the kernel.
#include <complex.h>
#include <fftw3.h>
#include "peer.h"

static fftwf_plan there, back;
static fftwf_complex *in, *out, *khat;
static float *row, *u, *y;
static int length, convolving;

static void forget(void) {
	if (there) fftwf_destroy_plan(there);
	if (back) fftwf_destroy_plan(back);
	there = back = NULL;
	fftwf_free(in), fftwf_free(out), fftwf_free(khat), fftwf_free(row);
	free(u), free(y);
	in = out = khat = NULL;
	row = u = y = NULL;
}

static int transform(int n) {
	in = fftwf_alloc_complex(n), out = fftwf_alloc_complex(n);
	there = fftwf_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_PATIENT);
	for (int i = 0; i < n; i++) in[i] = i % 7 - 3 + I * (i % 5 - 2);
	return 1;
}

static int convolution(int l) {
	length = l;
	row = fftwf_alloc_real(2 * l), out = fftwf_alloc_complex(l + 1), khat = fftwf_alloc_complex(l + 1);
	u = floats(l), y = floats(l);
	there = fftwf_plan_dft_r2c_1d(2 * l, row, out, FFTW_PATIENT);
	back = fftwf_plan_dft_c2r_1d(2 * l, out, row, FFTW_PATIENT);
	for (int i = 0; i < l; i++) u[i] = i % 7 - 3;
	for (int i = 0; i <= l; i++) khat[i] = (i % 5 - 2 + I * (i % 3 - 1)) / (2 * l);
	return 1;
}

static int prepare(const struct request *r) {
	forget();
	convolving = !strcmp(r->op, "conv");
	if (convolving) return convolution(r->L);
	return strcmp(r->op, "fft") ? 0 : transform(r->n);
}

static void run(void) {
	if (!convolving) {
		fftwf_execute(there);
		return;
	}
	memcpy(row, u, 4L * length);
	memset(row + length, 0, 4L * length);
	fftwf_execute(there);
	for (int i = 0; i <= length; i++) out[i] *= khat[i];
	fftwf_execute(back);
	memcpy(y, row, 4L * length);
}
