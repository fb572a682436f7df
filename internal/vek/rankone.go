package vek

// RankOne is a set of systems whose matrices are diagonal minus rank one, H channels of M modes.
// The channels are padded with zeros to a whole number of groups of GroupChannels.
type RankOne struct {
	Terms []float32 // [groups][M][RankOneTerms][GroupChannels]
	D     []float32 // [groups][GroupChannels] weight of the input itself
}

// NewRankOne returns systems of so many channels and modes, without terms.
func NewRankOne(channels, modes int) RankOne {
	width := ChannelGroups(channels) * GroupChannels
	return RankOne{Terms: make([]float32, RankOneTerms*modes*width), D: make([]float32, width)}
}

// SetMode sets the terms of mode n of channel h, with the names of RankOneBlock.
func (s *RankOne) SetMode(h, n int, e, p, u, b, c complex128) {
	setTerms(s.Terms, len(s.Terms)/(RankOneTerms*len(s.D)), h, n, e, p, u, b, c)
}

// setTerms stores the terms of a mode of a channel, [groups][modes][2·len(values)][GroupChannels].
func setTerms(terms []float32, modes, h, n int, values ...complex128) {
	at := (h/GroupChannels*modes+n)*2*len(values)*GroupChannels + h%GroupChannels
	for i, v := range values {
		terms[at+2*i*GroupChannels], terms[at+(2*i+1)*GroupChannels] = float32(real(v)), float32(imag(v))
	}
}

// RankOneScratch returns the number of floats of scratch that RankOneBlock needs.
func RankOneScratch(channels, samples int) int {
	return 2 * samples * ChannelGroups(channels) * GroupChannels
}

// RankOneBlock advances every channel of s over a block of samples, y and x [H][samples]. For each
// t in order it computes (docs/maths.md §17.3)
//
//	h_n = e_n·h_n − p_n·w + b_n·x[t] with w = Re Σ_n u_n·h_n of the sample before,
//	y[t] = Re Σ_n c_n·h_n + D·x[t]
//
// where hRe and hIm, [groups][M][GroupChannels], are the state, which is updated. Parts of the
// state never become denormal numbers: small ones are set to 0. Any split of a block gives the same
// bits. y may be x.
func RankOneBlock(y, x Matrix, hRe, hIm []float32, s *RankOne, scratch []float32) {
	y.check("RankOneBlock")
	x.check("RankOneBlock")
	groups, samples := ChannelGroups(x.Rows), x.Cols
	width := groups * GroupChannels
	require("RankOneBlock", y.Rows == x.Rows && y.Cols == samples && len(s.D) == width)
	sameLen("RankOneBlock", len(hRe), hIm)
	if groups == 0 || samples == 0 {
		return
	}
	modes := len(hRe) / width
	require("RankOneBlock", len(hRe) == modes*width && len(s.Terms) == RankOneTerms*len(hRe))
	require("RankOneBlock", len(scratch) >= RankOneScratch(x.Rows, samples))
	in, out := scratch[:samples*width], scratch[samples*width:2*samples*width]
	rows := MatrixOf(in, samples, width)
	Transpose(rows.Columns(0, x.Rows), x)
	for t := range samples {
		clear(rows.Row(t)[x.Rows:])
	}
	for g := range groups {
		at := g * GroupChannels
		first, end := at*modes, (at+GroupChannels)*modes
		rankOne(out[at:], in[at:], width, samples, s.D[at:at+GroupChannels], hRe[first:end], hIm[first:end],
			s.Terms[RankOneTerms*first:RankOneTerms*end])
	}
	Transpose(y, MatrixOf(out, samples, width).Columns(0, y.Rows))
}

// h_n = e_n·h_n − p_n·w + b_n·x[t] and y[t] = Re Σ_n c_n·h_n + d·x[t], where w = Re Σ_n u_n·h_n of
// the sample before, for a group of channels and samples that are stride apart
func rankOneGeneric(y, x []float32, stride, samples int, d, hRe, hIm, terms []float32) {
	var w, next groupVec
	modes := len(hRe) / GroupChannels
	for m := range modes {
		addRe(&w, groupRow(terms, m*RankOneTerms+termU), groupRow(terms, m*RankOneTerms+termU+1), groupRow(hRe, m), groupRow(hIm, m))
	}
	for t := range samples {
		in, out := (*groupVec)(x[t*stride:]), (*groupVec)(y[t*stride:])
		for i := range out {
			out[i] = d[i] * in[i]
		}
		next = groupVec{}
		for m := range modes {
			at, re, im := m*RankOneTerms, groupRow(hRe, m), groupRow(hIm, m)
			eRe, eIm := groupRow(terms, at+termE), groupRow(terms, at+termE+1)
			pRe, pIm := groupRow(terms, at+termP), groupRow(terms, at+termP+1)
			bRe, bIm := groupRow(terms, at+termB), groupRow(terms, at+termB+1)
			for i := range w {
				r, j := re[i], im[i]
				re[i] = float32(eRe[i]*r) - float32(eIm[i]*j) - float32(pRe[i]*w[i]) + float32(bRe[i]*in[i])
				im[i] = float32(eRe[i]*j) + float32(eIm[i]*r) - float32(pIm[i]*w[i]) + float32(bIm[i]*in[i])
				if tiny(re[i]) {
					re[i] = 0
				}
				if tiny(im[i]) {
					im[i] = 0
				}
			}
			addRe(&next, groupRow(terms, at+termU), groupRow(terms, at+termU+1), re, im)
			addRe(out, groupRow(terms, at+termC), groupRow(terms, at+termC+1), re, im)
		}
		w = next
	}
}

// addRe sets sum = sum + Re(c·h).
func addRe(sum, cRe, cIm, hRe, hIm *groupVec) {
	for i := range sum {
		sum[i] += float32(cRe[i]*hRe[i]) - float32(cIm[i]*hIm[i])
	}
}
