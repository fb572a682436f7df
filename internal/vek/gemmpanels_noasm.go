//go:build !amd64 || purego

package vek

func gemm(c, a, b Matrix, transA, transB bool, mode gemmMode, bias, scratch []float32, m, n, k int) {
	gemmGeneric(c, a, b, transA, transB, mode, bias, scratch, m, n, k)
}

func gemmVectorScratch(m, n, k int) int { return 0 }
