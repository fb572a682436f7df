// OpenBLAS: products of two row-major matrices.
#include <cblas.h>
#include "peer.h"

static float *a, *b, *c;
static int m, n, k, ldc; // rows of c are not a power of two apart

static int prepare(const struct request *r) {
	if (strcmp(r->op, "gemm")) return 0;
	free(a), free(b), free(c);
	m = r->m, n = r->n, k = r->k, ldc = n + 16;
	a = floats((size_t)m * k), b = floats((size_t)k * n), c = floats((size_t)m * ldc);
	for (int i = 0; i < m * k; i++) a[i] = i % 7 - 3;
	for (int i = 0; i < k * n; i++) b[i] = i % 5 - 2;
	return 1;
}

static void run(void) {
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, ldc);
}
