// SLEEF: exp(re + i·im) by its vector exponential, sine and cosine of 1 ulp. WIDTH is the number of floats of a
// vector, 8 or 16.
#include <immintrin.h>
#include <sleef.h>
#include "peer.h"

static float *re, *im, *dre, *dim;
static int n;

static int prepare(const struct request *r) {
	if (strcmp(r->op, "cexp")) return 0;
	free(re), free(im), free(dre), free(dim);
	n = r->n / WIDTH * WIDTH;
	re = floats(n), im = floats(n), dre = floats(n), dim = floats(n);
	for (int i = 0; i < n; i++) {
		re[i] = -8 + 8.2f * i / n;
		im[i] = -100 + 200.f * i / n;
	}
	return n;
}

static void run(void) {
	for (int i = 0; i < n; i += WIDTH) {
#if WIDTH == 16
		__m512 e = Sleef_expf16_u10avx512f(_mm512_loadu_ps(re + i));
		Sleef___m512_2 s = Sleef_sincosf16_u10avx512f(_mm512_loadu_ps(im + i));
		_mm512_storeu_ps(dre + i, _mm512_mul_ps(e, s.y));
		_mm512_storeu_ps(dim + i, _mm512_mul_ps(e, s.x));
#else
		__m256 e = Sleef_expf8_u10avx2(_mm256_loadu_ps(re + i));
		Sleef___m256_2 s = Sleef_sincosf8_u10avx2(_mm256_loadu_ps(im + i));
		_mm256_storeu_ps(dre + i, _mm256_mul_ps(e, s.y));
		_mm256_storeu_ps(dim + i, _mm256_mul_ps(e, s.x));
#endif
	}
}
