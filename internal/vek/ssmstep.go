package vek

// SSMStep advances several states of s by one sample each: y and x are [H][len(states)], and a
// state is [re, im][H][M]. The results are bit-identical to an SSMBlock of one sample per state.
// The poles and weights are read once for several states. No state may be given twice. y may be x.
func SSMStep(y, x Matrix, states [][]float32, s *SSM, scratch []float32) {
	y.check("SSMStep")
	x.check("SSMStep")
	channels, modes := len(s.D), len(s.LambdaRe)
	require("SSMStep", y.Rows == channels && x.Rows == channels && y.Cols == len(states) && x.Cols == len(states))
	sameLen("SSMStep", modes, s.LambdaIm, s.CRe, s.CIm)
	sameLen("SSMStep", 2*modes, states...)
	if channels == 0 {
		return
	}
	require("SSMStep", modes%channels == 0 && len(scratch) >= SSMScratch)
	ssmStep(y, x, states, s, scratch)
}

func ssmStepGeneric(y, x Matrix, states [][]float32, s *SSM) {
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		ssmBlockGeneric(y.Columns(i, i+1), x.Columns(i, i+1), re, im, s)
	}
}
