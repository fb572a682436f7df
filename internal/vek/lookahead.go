package vek

import "math"

// tinyBits is the bit pattern of 1e-30. Plain Go sets parts of a state below it to 0, because
// denormal numbers (below 1e-38) would slow down a stream after it falls silent. Assembly makes the
// processor flush denormal numbers.
const tinyBits = 0x0DA24260

// tiny reports whether |x| is below 1e-30. It compares bits, because a branch on the sign would be
// mispredicted.
func tiny(x float32) bool { return math.Float32bits(x)<<1 < tinyBits<<1 }

// LookAhead is a set of diagonal systems, H channels of M modes,
//
//	h_n ← λ_n·h_n + x[t],  y[t] = Re Σ_n w_n·h_n + D·x[t],
//
// whose states advance by AheadSamples samples at a time. Then they give the next outputs as far as
// these depend on the past. An output adds its input and those since then, weighted by the first
// taps of the kernel K[m] = Re Σ_n w_n·λ_n^m. The channels are padded with zeros to a whole number
// of groups of GroupChannels.
type LookAhead struct {
	// Taps has the rows 0, 0, 0, 0, 0, 0, 0, 1, K[1] … K[7], K[0] + D.
	Taps []float32 // [groups][2·AheadSamples][GroupChannels]
	// Terms has the real and imaginary parts of λ, λ², w·λ and w·λ².
	Terms []float32 // [groups][M][AheadTerms][GroupChannels]
}

// NewLookAhead returns systems of so many channels and modes, without taps and terms.
func NewLookAhead(channels, modes int) LookAhead {
	width := ChannelGroups(channels) * GroupChannels
	return LookAhead{Taps: make([]float32, 2*AheadSamples*width), Terms: make([]float32, AheadTerms*modes*width)}
}

// SetMode sets the terms of mode n of channel h: λ, λ², and with the weight w of the output w·λ and
// w·λ².
func (s *LookAhead) SetMode(h, n int, lambda, square, output, outputSquare complex128) {
	_, modes := s.size()
	setTerms(s.Terms, modes, h, n, lambda, square, output, outputSquare)
}

// SetTaps sets the taps of channel h from the beginning of its kernel and D.
func (s *LookAhead) SetTaps(h int, kernel [AheadSamples]float64, d float64) {
	set := func(row int, v float64) {
		s.Taps[(h/GroupChannels*2*AheadSamples+row)*GroupChannels+h%GroupChannels] = float32(v)
	}
	set(AheadSamples-1, 1)
	for m, v := range kernel[1:] {
		set(AheadSamples+m, v)
	}
	set(2*AheadSamples-1, kernel[0]+d)
}

// ChannelGroups returns the number of groups for the given number of channels.
func ChannelGroups(channels int) int { return (channels + GroupChannels - 1) / GroupChannels }

// size returns the number of groups and of modes.
func (s *LookAhead) size() (groups, modes int) {
	groups = len(s.Taps) / (2 * AheadSamples * GroupChannels)
	return groups, len(s.Terms) / (max(1, groups) * AheadTerms * GroupChannels)
}

// StateLen returns the number of floats of a state: h, [re, im][groups][M][GroupChannels], and for
// each group the inputs since its state advanced, then the outputs until it advances next,
// [groups][AheadSamples][GroupChannels]. A state is 0 at the start.
func (s *LookAhead) StateLen() int {
	groups, modes := s.size()
	return groups * GroupChannels * (2*modes + AheadSamples)
}

// ScratchLen returns the number of floats of scratch that Run needs for so many columns.
func (s *LookAhead) ScratchLen(columns int) int {
	groups, _ := s.size()
	return 2 * columns * groups * GroupChannels
}

// Run advances each state by the same number of samples, y and x [H][states·samples], and sets y.
// positions has the number of samples that each state has processed before. Parts of a state never
// become denormal numbers: small ones are set to 0. Any split of a stream's samples, and any
// grouping of states, gives the same bits. y may be x.
func (s *LookAhead) Run(y, x Matrix, states [][]float32, positions []int64, scratch []float32) {
	y.check("LookAhead")
	x.check("LookAhead")
	groups, modes := s.size()
	width, count, stateLen := groups*GroupChannels, len(states), s.StateLen()
	require("LookAhead", y.Rows == x.Rows && y.Cols == x.Cols && groups == ChannelGroups(x.Rows) && len(positions) == count)
	require("LookAhead", len(scratch) >= s.ScratchLen(x.Cols))
	if groups == 0 || x.Cols == 0 {
		return
	}
	samples := x.Cols / count
	in, out := MatrixOf(scratch, x.Cols, width), MatrixOf(scratch[x.Cols*width:], x.Cols, width)
	Transpose(in.Columns(0, x.Rows), x)
	for t := range in.Rows {
		clear(in.Row(t)[x.Rows:])
	}
	apart := max(1, AheadSamples/groups) // no sample pays for the states of all groups
	for i, state := range states {
		require("LookAhead", len(state) == stateLen)
		lookAhead(out.Data[i*samples*width:], in.Data[i*samples*width:], width, samples, int(positions[i]%AheadSamples), apart, modes,
			state[2*modes*width:], s.Taps, state[:modes*width], state[modes*width:2*modes*width], s.Terms)
	}
	Transpose(y, out.Columns(0, y.Rows))
}

// groupVec has one value for each channel of a group.
type groupVec = [GroupChannels]float32

func groupRow(s []float32, i int) *groupVec { return (*groupVec)(s[i*GroupChannels:]) }

// The samples of groups of channels, which are stride apart. phase is the slot of the first sample
// for the first group, and apart is added to it for each further group.
func lookAheadGeneric(y, x []float32, stride, samples, phase, apart, modes int, slots, taps, hRe, hIm, terms []float32) {
	for at := 0; len(slots) > 0; at, phase = at+GroupChannels, (phase+apart)%AheadSamples {
		slot := phase
		for t := range samples {
			in, out, direct := groupRow(x[t*stride+at:], 0), groupRow(y[t*stride+at:], 0), groupRow(taps, 2*AheadSamples-1)
			for c, u := range in {
				out[c] = direct[c] * u
			}
			for i := range AheadSamples {
				tap, s := groupRow(taps, slot+AheadSamples-1-i), groupRow(slots, i)
				for c := range out {
					out[c] += float32(tap[c] * s[c])
				}
			}
			*groupRow(slots, slot) = *in
			if slot++; slot == AheadSamples {
				slot = 0
				lookAheadTurn(slots, hRe, hIm, terms, modes)
			}
		}
		slots, taps = slots[AheadSamples*GroupChannels:], taps[2*AheadSamples*GroupChannels:]
		hRe, hIm, terms = hRe[modes*GroupChannels:], hIm[modes*GroupChannels:], terms[modes*AheadTerms*GroupChannels:]
	}
}

// lookAheadTurn advances the states of a group by the samples in the slots, two at a time, and sets
// the slots to the outputs of the next samples without their input.
func lookAheadTurn(slots, hRe, hIm, terms []float32, modes int) {
	var out [AheadSamples]groupVec
	var x [AheadSamples]*groupVec
	for i := range x {
		x[i] = groupRow(slots, i)
	}
	for m := range modes {
		re, im := groupRow(hRe, m), groupRow(hIm, m)
		var p [AheadTerms]*groupVec
		for i := range p {
			p[i] = groupRow(terms, m*AheadTerms+i)
		}
		for c := range re {
			r, i, squareRe, squareIm := re[c], im[c], p[2][c], p[3][c]
			turned := func(r, i float32) (float32, float32) {
				return float32(squareRe*r) - float32(squareIm*i), float32(squareRe*i) + float32(squareIm*r)
			}
			for t := 0; t < AheadSamples; t += 2 {
				r, i = turned(r, i)
				r, i = r+x[t+1][c]+float32(p[0][c]*x[t][c]), i+float32(p[1][c]*x[t][c])
			}
			if tiny(r) {
				r = 0
			}
			if tiny(i) {
				i = 0
			}
			re[c], im[c] = r, i
			for t := 0; t < AheadSamples; t += 2 {
				out[t][c] += float32(p[4][c]*r) - float32(p[5][c]*i)
				out[t+1][c] += float32(p[6][c]*r) - float32(p[7][c]*i)
				r, i = turned(r, i)
			}
		}
	}
	for i := range x {
		*x[i] = out[i]
	}
}

// Transpose sets dst = xᵀ. dst must not overlap x.
func Transpose(dst, x Matrix) {
	dst.check("Transpose")
	x.check("Transpose")
	require("Transpose", dst.Rows == x.Cols && dst.Cols == x.Rows)
	if x.Rows == 1 && dst.Stride == 1 || x.Cols == 1 && x.Stride == 1 {
		copy(dst.Data, x.Data[:x.Rows*x.Cols])
		return
	}
	transpose(dst, x)
}

func transposeGeneric(dst, x Matrix) {
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			dst.Data[j*dst.Stride+i] = v
		}
	}
}
