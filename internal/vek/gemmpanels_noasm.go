//go:build (!amd64 && !arm64) || purego

package vek

func gemm(c, a, b Matrix, form Form, mode int, bias, scratch []float32, m, n, k int, w *Weights, _ []Matrix) {
	gemmGeneric(c, a, b, form, mode, bias, scratch, m, n, k)
}

func (w *Weights) pack() {}

func gemmVectorScratch(m, n, k int) int { return 0 }

func powerProduct(k, anchors, table Matrix, scratch []float32) {
	gemmGeneric(k, anchors, table, TransposeA, gemmSet, nil, scratch, k.Rows, k.Cols, table.Rows)
}

func transpose(dst, x Matrix) { transposeGeneric(dst, x) }
