package vek

import "fmt"

// SSMStep advances several states of s by one sample each: y and x are [H][len(states)], and a
// state is [re, im][H][M]. The results are bit-identical to an SSMBlock of one sample per state.
// The poles and weights are read once for several states. No state may be given twice. y may be x.
func SSMStep(y, x Matrix, states [][]float32, s *SSM, scratch []float32) {
	y.check("SSMStep")
	x.check("SSMStep")
	channels, modes := len(s.D), len(s.LambdaRe)
	if y.Rows != channels || x.Rows != channels || y.Cols != len(states) || x.Cols != len(states) {
		panic(fmt.Sprintf("vek: SSMStep: %d×%d from %d×%d, expected %d channels of %d states",
			y.Rows, y.Cols, x.Rows, x.Cols, channels, len(states)))
	}
	sameLen("SSMStep", modes, s.LambdaIm, s.CRe, s.CIm)
	for i, state := range states {
		if len(state) != 2*modes {
			panic(fmt.Sprintf("vek: SSMStep: state %d has %d floats, expected %d", i, len(state), 2*modes))
		}
	}
	if channels == 0 {
		return
	}
	if modes%channels != 0 {
		panic(fmt.Sprintf("vek: SSMStep: %d modes for %d channels", modes, channels))
	}
	if len(scratch) < SSMScratch {
		panic(fmt.Sprintf("vek: SSMStep: scratch of %d floats, expected %d", len(scratch), SSMScratch))
	}
	ssmStep(y, x, states, s, scratch)
}

func ssmStepGeneric(y, x Matrix, states [][]float32, s *SSM) {
	for i, state := range states {
		re, im := state[:len(state)/2], state[len(state)/2:]
		ssmBlockGeneric(y.Columns(i, i+1), x.Columns(i, i+1), re, im, s)
	}
}
