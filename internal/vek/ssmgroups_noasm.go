//go:build (!amd64 && !arm64) || purego

package vek

func ssmBlock(y, x Matrix, hRe, hIm []float32, s *SSM, _ []float32) {
	ssmBlockGeneric(y, x, hRe, hIm, s)
}

func ssmStep(y, x Matrix, states [][]float32, s *SSM, _ []float32) { ssmStepGeneric(y, x, states, s) }
