package ssm

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
)

// Analysis describes the poles and the frequency responses of a layer, for every kind of layer
// (docs/maths.md §8).
type Analysis struct {
	// LogPoles are log λ̄ of all poles, one of each conjugate pair: [H][M], and [P] of layers with
	// one SSM for all channels. In S4 the rank-one term moves the poles from Λ. They are
	// eigenvalues of Ā, and a channel may have real ones, so it has M or more. Those of LegS are
	// ill-conditioned: for N > 16, float64 does not determine them.
	LogPoles []complex128

	// Rows is the number of frequency responses, directions·H. It is 0 for a layer with one SSM for
	// all channels.
	Rows int

	// Aliased is the number of modes that turn by π or more per sample, before the angle is folded
	// (paper, Lemma 1). In S5 with zero-order hold they are those with |Im Λ·Δ| ≥ π. Poles of the
	// bilinear rule never do. One mode of every SSM of dfout-half does: it is equivalent to its
	// mirror image in the upper half circle. Aliased is nil where the figure has no meaning: the
	// poles of S4 are eigenvalues of Ā, and those of an LRU have no continuous frequency that could
	// alias.
	Aliased *int

	// HInf returns the peak of the frequency response of row < Rows, without D. Its squared gain is
	// the paper's score of an SSM. The gain is +Inf if the response is unbounded.
	HInf func(row int) Peak

	// Response returns the frequency response of row < Rows at an angle θ in radians per sample,
	// without D (see Discrete.Response).
	Response func(row int, theta float64) complex128
}

// Analyze returns the analysis of a layer.
func (p *Params) Analyze() (*Analysis, error) { return p.analyze(0) }

// AnalyzeInitial returns the analysis of parameters whose poles are those that New returned. The
// poles of S4's LegS are exact: A has the eigenvalues −1, −2, …, −N.
func (p *Params) AnalyzeInitial() (*Analysis, error) { return p.analyze(p.legSCopies()) }

// analyze returns the analysis of a layer. In S4, A of the first pole copies, exact of them, has
// the eigenvalues −1, −2, …, −N.
func (p *Params) analyze(exact int) (*Analysis, error) {
	a := &Analysis{Rows: p.Directions() * p.DModel}
	switch p.Layer {
	case LayerS4:
		return a, p.analyzeRankOne(a, exact)
	case LayerS5, LayerLRU:
		p.analyzeScan(a)
		return a, nil
	}
	d := p.Discretize(p.Disc, 1)
	a.Aliased = new(0)
	for _, l := range d.LogLambda {
		if math.Abs(imag(l)) >= math.Pi {
			*a.Aliased++
		}
	}
	a.LogPoles, a.HInf, a.Response = d.LogLambda, d.HInf, d.Response
	return a, nil
}

// Coverage returns the largest gap between neighbours among 0, the folded angles of the layer's
// poles, and π, in radians per sample. DFouT's grid has 2π/(NH).
func (a *Analysis) Coverage() (gap float64) {
	angles := []float64{0, math.Pi}
	for _, l := range a.LogPoles {
		angles = append(angles, folded(l))
	}
	slices.Sort(angles)
	for i := 1; i < len(angles); i++ {
		gap = max(gap, angles[i]-angles[i-1])
	}
	return gap
}

// analyzeScan sets the poles of a layer with one SSM for all channels. Rows is 0,
// because its channels have no responses of their own.
func (p *Params) analyzeScan(a *Analysis) {
	aliased := 0
	for n := range p.Modes() {
		m := p.scanMode(n, 1)
		a.LogPoles = append(a.LogPoles, m.poleLog())
		if p.Disc == ZOH && math.Abs(m.angle) >= math.Pi {
			aliased++
		}
	}
	if p.Layer == LayerS5 {
		a.Aliased = &aliased
	}
	a.Rows = 0
}

// analyzeRankOne sets the poles and responses of an S4 layer (see analyze).
func (p *Params) analyzeRankOne(a *Analysis, exact int) error {
	full := *p
	full.C = slices.Clone(p.C)
	if err := full.RecoverChannels(0, p.DModel); err != nil {
		return err
	}
	systems := make([]*RankOne, p.DModel)
	near := make([][]complex128, p.DModel)
	for h := range systems {
		r := NewRankOne(p.Modes())
		full.RankOne(r, h, 1)
		systems[h] = r
		if h%p.Copies() < exact {
			near[h] = legSPoles(p.DState, p.step(h, 1))
		} else if near[h] = r.logPoles(); near[h] == nil {
			return fmt.Errorf("ssm: the eigenvalues of channel %d did not converge", h)
		}
		a.LogPoles = append(a.LogPoles, near[h]...)
	}
	a.Response = func(row int, theta float64) complex128 {
		m := p.Modes()
		return systems[row%p.DModel].response(full.C[row*m:(row+1)*m], theta)
	}
	a.HInf = func(row int) Peak {
		h := row % p.DModel
		for _, l := range near[h] {
			if real(l) >= 0 {
				return Peak{Theta: folded(l), Gain: math.Inf(1)}
			}
		}
		return peakOf(near[h], func(theta float64) float64 { return cmplx.Abs(a.Response(row, theta)) })
	}
	return nil
}

// logPoles returns log λ̄ of the eigenvalues of Ā, one of each conjugate pair, or nil if they do not
// converge.
func (r *RankOne) logPoles() (list []complex128) {
	a := r.matrix()
	if !a.isFinite() {
		return nil
	}
	for _, lambda := range a.eigenvalues() {
		if imag(lambda) >= 0 {
			list = append(list, logPole(lambda))
		}
	}
	return list
}

// legSPoles returns log λ̄ of HiPPO-LegS of a size with the bilinear rule: A is triangular, with the
// diagonal −1, −2, …, −size (S4, arXiv 2111.00396, eq. 2).
func legSPoles(size int, step float64) []complex128 {
	list := make([]complex128, size)
	for n := range list {
		half := step / 2 * float64(n+1)
		list[n] = logPole(complex((1-half)/(1+half), 0))
	}
	return list
}

// response returns ⟨C,(I − Āz⁻¹)⁻¹B⟩ at z = e^{iθ}, by the formula of Sherman and Morrison: with
// ⟨u,v⟩_z the sum of u·v/(1 − E·z⁻¹) over the modes and their conjugates, it is ⟨C,B⟩_z −
// z⁻¹·⟨C,P⟩_z·⟨U,B⟩_z/(1 + z⁻¹·⟨U,P⟩_z).
func (r *RankOne) response(c []complex128, theta float64) complex128 {
	back := cmplx.Rect(1, -theta)
	var cb, cp, ub, up complex128
	for n, e := range r.E {
		kept, other := 1/(1-e*back), 1/(1-cmplx.Conj(e)*back)
		both := func(v complex128) complex128 { return v*kept + cmplx.Conj(v)*other }
		cb += both(c[n] * r.B[n])
		cp += both(c[n] * r.P[n])
		ub += both(r.U[n] * r.B[n])
		up += both(r.U[n] * r.P[n])
	}
	return cb - back*cp*ub/(1+back*up)
}

// logPole is log λ̄ with a real part of at least −60 (see bilinear).
func logPole(lambda complex128) complex128 {
	const minLog = -60
	return complex(max(math.Log(cmplx.Abs(lambda)), minLog), cmplx.Phase(lambda))
}
