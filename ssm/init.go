package ssm

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// A layer's draws come from one stream, random.Poles at step 0. Each quantity has its own range of
// 2³² indices, so another channel or mode of one quantity does not change the draws of the others.
const (
	drawStep uint64 = 0 << 32 // + h, S5: + n: uniform
	drawC    uint64 = 1 << 32 // + 2·((direction·H + h)·M + n), + 1 for Im: normal
	drawD    uint64 = 2 << 32 // + h: normal
	drawFreq uint64 = 3 << 32 // + s·M + n: normal; LRU: + n: uniform

	// S5 draws B and C in the basis of the HiPPO state, with N in place of M in the index of C.
	drawB      uint64 = 5 << 32 // S5: + i·H + h: uniform; LRU: + 2·(n·H + h), + 1 for Im: normal
	drawRadius uint64 = 6 << 32 // + n: uniform
)

// NewParams allocates parameters for a configuration: B = 1 (0 for S5 and the LRU), all others 0.
// The same type holds gradients.
func NewParams(cfg Config) *Params {
	h, m := cfg.DModel, cfg.Modes()
	steps, poles, inputs := h, cfg.Copies()*m, cfg.Copies()*m
	if cfg.MIMO() {
		steps, poles, inputs = m, m, m*h
	}
	p := &Params{
		Config: cfg,
		Step:   make([]float64, steps),
		Decay:  make([]float64, poles),
		Freq:   make([]float64, poles),
		B:      make([]complex128, inputs),
		C:      make([]complex128, cfg.Directions()*h*m),
		D:      make([]float64, h),
	}
	switch cfg.Layer {
	case LayerS4:
		p.P = make([]complex128, poles)
	case LayerLRU:
		p.Step, p.Gamma = nil, p.Step
	}
	for i := range p.B {
		if !cfg.MIMO() {
			p.B[i] = 1
		}
	}
	return p
}

// New draws the initial parameters of a layer (docs/maths.md §1.2, §2): the scheme's poles in every
// copy, log-uniform steps, C complex normal with E|C|² = 1, D normal. They depend only on
// configuration, seed and layer.
//
// S5 and the LRU have their own initial values (docs/maths.md §19.4).
//
// If B is not trained, C is multiplied by the fixed B of LegS: only the product C·B has an effect.
func New(cfg Config, seed uint64, layer int) (*Params, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Init == Imported {
		return nil, fmt.Errorf("ssm: init %q: such parameters come from a file and cannot be drawn", cfg.Init)
	}
	p := NewParams(cfg)
	draw := random.New(seed, random.Poles, 0, layer)
	for i := range p.Step { // Δ or ξ
		p.Step[i] = p.logStep(draw.Float64(drawStep + uint64(i)))
	}
	for h := range p.D {
		p.D[h] = draw.Normal(drawD + uint64(h))
	}
	switch cfg.Layer {
	case LayerS5:
		return p, p.initS5(draw)
	case LayerLRU:
		p.initLRU(draw)
		return p, nil
	}
	drawComplex(p.C, draw, drawC, math.Sqrt(0.5))
	if cfg.Layer != LayerS4 {
		return p, p.initPoles(draw)
	}
	err := p.initHippo()
	if err == nil && cfg.LKernel > 0 {
		p.TruncateChannels(1, cfg.LKernel, 0, cfg.DModel)
	}
	return p, err
}

// logStep maps [0, 1) to the logarithm of a step.
func (p *Params) logStep(u float64) float64 {
	lo, hi := p.DtMin, p.DtMax
	if p.Angles() {
		lo, hi = p.XiMin, p.XiMax
	}
	logLo, logHi := math.Log(lo), math.Log(hi)
	return logLo + u*(logHi-logLo)
}

// minDSSDecay is the lower bound of DSS's initial −Re A, as in the official code.
const minDSSDecay = 1e-4

// initPoles sets Decay, Freq and, for LegS, B.
func (p *Params) initPoles(draw random.Stream) error {
	logDecay := math.Log(p.AReal) // −Inf for 0: the unit circle
	if p.Layer == LayerDSS {
		logDecay = max(p.AReal, minDSSDecay)
	}
	for i := range p.Decay {
		p.Decay[i] = logDecay
	}
	if p.Angles() {
		p.initAngles()
		return nil
	}
	n := float64(p.DState)
	switch p.Init {
	case Lin:
		p.repeatFreq(func(i float64) float64 { return math.Pi * i })
	case Inv:
		p.repeatFreq(func(i float64) float64 { return n / math.Pi * (n/(2*i+1) - 1) })
	case Inv2:
		p.repeatFreq(func(i float64) float64 { return n / math.Pi * (n/(i+1) - 1) })
	case Quad:
		p.repeatFreq(func(i float64) float64 { return (2*i + 1) * (2*i + 1) / math.Pi })
	case Real:
		for i := range p.Decay {
			p.Decay[i] = math.Log(float64(i%p.Modes() + 1))
			if p.Layer == LayerDSS {
				p.Decay[i] = float64(i%p.Modes() + 1)
			}
		}
	case Rand:
		for i := range p.Freq {
			p.Freq[i] = math.Exp(draw.Normal(drawFreq + uint64(i)))
		}
	case LegS:
		freq, b, err := legS(p.DState)
		if err != nil {
			return err
		}
		p.repeatFreq(func(i float64) float64 { return freq[int(i)] })
		p.setB(b)
	}
	return nil
}

// repeatFreq gives every copy the same frequencies, f(0), f(1) … (docs/maths.md §2.1).
func (p *Params) repeatFreq(f func(n float64) float64) {
	for i := range p.Freq {
		p.Freq[i] = f(float64(i % p.Modes()))
	}
}

// setB gives every copy the same B [M], clipped; untrained, it is folded into C.
func (p *Params) setB(b []complex128) {
	dst := p.C
	if p.TrainB {
		dst = p.B
	}
	for i := range dst {
		dst[i] *= clipIm(b[i%len(b)])
	}
}

// initAngles sets Freq for the schemes on the unit circle (docs/maths.md §2.3, §2.4; paper, arXiv
// 2508.20441).
func (p *Params) initAngles() {
	m, size := p.Modes(), float64(p.DState)
	for i := range p.Freq { // copy h is channel h, since S = H
		h, n := i/m, i%m
		if p.Init == DFouTSingle {
			p.Freq[i] = 2 * math.Pi * float64(n) / size
		} else {
			p.Freq[i] = 2 * math.Pi / (size * float64(p.DModel)) * float64(n*p.DModel+h)
		}
		if !p.Discrete() { // Im A = θ/ξ
			p.Freq[i] /= math.Exp(p.Step[h])
		}
	}
}
