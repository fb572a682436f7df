package ssm

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// A layer's draws come from one stream, random.Poles at step 0. Each quantity has its own range of
// 2³² indices, so another channel or mode of one quantity does not change the draws of the others.
const (
	drawStep uint64 = 0 << 32 // + h: uniform
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
	h, m, s := cfg.DModel, cfg.Modes(), cfg.Copies()
	if cfg.MIMO() {
		p := &Params{
			Config: cfg, Decay: make([]float64, m), Freq: make([]float64, m),
			B: make([]complex128, m*h), C: make([]complex128, cfg.Directions()*h*m), D: make([]float64, h),
		}
		if cfg.Layer == LayerLRU {
			p.Gamma = make([]float64, m)
		} else {
			p.Step = make([]float64, m)
		}
		return p
	}
	p := &Params{
		Config: cfg,
		Step:   make([]float64, h),
		Decay:  make([]float64, s*m),
		Freq:   make([]float64, s*m),
		B:      make([]complex128, s*m),
		C:      make([]complex128, cfg.Directions()*h*m),
		D:      make([]float64, h),
	}
	if cfg.Layer == LayerS4 {
		p.P = make([]complex128, s*m)
	}
	for i := range p.B {
		p.B[i] = 1
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
	if cfg.MIMO() {
		return p, p.initScan(draw)
	}
	p.initSteps(draw)
	p.initOutput(draw)
	if cfg.Layer != LayerS4 {
		return p, p.initPoles(draw)
	}
	err := p.initHippo()
	if err == nil && cfg.LKernel > 0 {
		p.TruncateChannels(1, cfg.LKernel, 0, cfg.DModel)
	}
	return p, err
}

// initSteps draws Δ or ξ, one per channel, log-uniform in its range.
func (p *Params) initSteps(draw random.Stream) {
	for h := range p.Step {
		p.Step[h] = p.logStep(draw.Float64(drawStep + uint64(h)))
	}
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

// initOutput draws C and D.
func (p *Params) initOutput(draw random.Stream) {
	for i := range p.C {
		re, im := draw.Normal(drawC+2*uint64(i)), draw.Normal(drawC+2*uint64(i)+1)
		p.C[i] = complex(re*math.Sqrt(0.5), im*math.Sqrt(0.5))
	}
	for h := range p.D {
		p.D[h] = draw.Normal(drawD + uint64(h))
	}
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
