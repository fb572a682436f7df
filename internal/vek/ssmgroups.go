//go:build (amd64 || arm64) && !purego

package vek

// ssmBlock processes as many channels at a time as fill ssmRows with their samples: a few channels
// over a long block, or many channels over one sample. Re Σ c·h, [channels][samples], is in
// scratch[16·ssmRows:].
func ssmBlock(y, x Matrix, hRe, hIm []float32, s *SSM, scratch []float32) {
	if current() == generic {
		ssmBlockGeneric(y, x, hRe, hIm, s)
		return
	}
	modes := len(hRe) / len(s.D)
	for at := 0; at < x.Cols; {
		n := min(x.Cols-at, ssmRows/2)
		channels := ssmRows / n &^ 1 // pairs
		for h := 0; h < len(s.D); h += channels {
			g := ssmGroup{at: at, samples: n, channel: h, channels: min(channels, len(s.D)-h)}
			if i := h * modes; modes > 0 {
				ssmModes(&scratch[0], &x.Data[h*x.Stride+at], x.Stride, n, g.channels, modes, &hRe[i], &hIm[i],
					&s.LambdaRe[i], &s.LambdaIm[i], &s.CRe[i], &s.CIm[i])
				sumLanes(&scratch[16*ssmRows], &scratch[0], g.channels*n)
			} else {
				clear(scratch)
			}
			g.output(y, x, s.D, scratch[16*ssmRows:])
		}
		at += n
	}
}

// ssmGroup is a range of samples of a range of channels.
type ssmGroup struct{ at, samples, channel, channels int }

// output sets y = 2·sums + D·x.
func (g ssmGroup) output(y, x Matrix, d, sums []float32) {
	if g.samples == 1 { // a step of a stream: few instructions
		out, in := y.Data[g.channel*y.Stride+g.at:], x.Data[g.channel*x.Stride+g.at:]
		for h, d := range d[g.channel:][:g.channels] {
			out[h*y.Stride] = 2*sums[h] + float32(d*in[h*x.Stride])
		}
		return
	}
	ssmOutput(&y.Data[g.channel*y.Stride+g.at], y.Stride, &x.Data[g.channel*x.Stride+g.at], x.Stride, &sums[0], &d[g.channel], g.channels, g.samples)
}

// stepStates is the number of states in which a pair of channels is advanced at a time. With more,
// there would be more sequences of addresses than a processor prefetches.
const stepStates = 8

// ssmStep advances a few states at a time, one pair of channels after the other, so that a pair's
// poles and weights are read once for these states. Column i of x belongs to state i. In ssmBlock
// the columns are samples.
func ssmStep(y, x Matrix, states [][]float32, s *SSM, scratch []float32) {
	if current() == generic || len(s.LambdaRe) == 0 {
		ssmStepGeneric(y, x, states, s)
		return
	}
	modes, sums := len(s.LambdaRe)/len(s.D), scratch[16*ssmRows:]
	for at := 0; at < len(states); at += stepStates {
		n := min(stepStates, len(states)-at)
		channels := ssmRows / n &^ 1 // pairs
		for h := 0; h < len(s.D); h += channels {
			g := ssmGroup{at: at, samples: n, channel: h, channels: min(channels, len(s.D)-h)}
			ssmModeSteps(&scratch[0], &x.Data[h*x.Stride+at], x.Stride, n, g.channels, modes, &states[at], h*modes, 4*len(s.LambdaRe),
				&s.LambdaRe[0], &s.LambdaIm[0], &s.CRe[0], &s.CIm[0])
			sumLanes(&sums[0], &scratch[0], g.channels*n)
			g.output(y, x, s.D, sums)
		}
	}
}
