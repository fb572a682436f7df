package ssm

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Draws of a layer come from one stream, random.Poles at step 0. Each quantity has its own range of 2³²
// indices, so that adding a channel or a mode to one never moves another.
const (
	drawStep uint64 = 0 << 32 // + h: uniform
	drawC    uint64 = 1 << 32 // + 2·((direction·H + h)·M + n), and + 1 for the imaginary part: normal
	drawD    uint64 = 2 << 32 // + h: normal
)

// NewParams returns parameters of the right shapes: B = 1, all else 0. The same type holds gradients.
func NewParams(cfg Config) *Params {
	h, m, s := cfg.DModel, cfg.Modes(), cfg.Copies()
	p := &Params{
		Config:   cfg,
		LogStep:  make([]float64, h),
		LogDecay: make([]float64, s*m),
		Freq:     make([]float64, s*m),
		B:        make([]complex128, s*m),
		C:        make([]complex128, cfg.Directions()*h*m),
		D:        make([]float64, h),
	}
	for i := range p.B {
		p.B[i] = 1
	}
	return p
}

// New draws the initial parameters of a layer (spec §1.2, §2): the scheme's poles in every copy, log-uniform
// steps, C complex normal with unit mean square modulus, D normal. They depend on seed and layer alone.
//
// Where B is not trained, the fixed B of LegS multiplies C instead: only C·B acts.
func New(cfg Config, seed uint64, layer int) (*Params, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Init == Imported {
		return nil, fmt.Errorf("ssm: init %q: such parameters come from a file and cannot be drawn", cfg.Init)
	}
	p := NewParams(cfg)
	draw := random.New(seed, random.Poles, 0, layer)
	p.initSteps(draw)
	p.initOutput(draw)
	return p, p.initPoles()
}

// initSteps draws Δ or ξ, one per channel, log-uniform over its range.
func (p *Params) initSteps(draw random.Stream) {
	lo, hi := p.DtMin, p.DtMax
	if p.Discrete() {
		lo, hi = p.XiMin, p.XiMax
	}
	logLo, logHi := math.Log(lo), math.Log(hi)
	for h := range p.LogStep {
		u := draw.Float64(drawStep + uint64(h))
		p.LogStep[h] = logLo + u*(logHi-logLo)
	}
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

// initPoles sets LogDecay, Freq and, for LegS, B.
func (p *Params) initPoles() error {
	logDecay := math.Log(p.AReal) // −Inf for 0: the unit circle
	for i := range p.LogDecay {
		p.LogDecay[i] = logDecay
	}
	switch p.Init {
	case Lin:
		p.repeatFreq(linFreq(p.DState))
	case Inv:
		p.repeatFreq(invFreq(p.DState))
	case DFouT:
		p.layerwiseAngles()
	case LegS:
		freq, b, err := legS(p.DState)
		if err != nil {
			return err
		}
		p.repeatFreq(freq)
		p.setB(b)
	}
	return nil
}

// repeatFreq gives every copy the same frequencies.
func (p *Params) repeatFreq(freq []float64) {
	for i := 0; i < len(p.Freq); i += len(freq) {
		copy(p.Freq[i:], freq)
	}
}

// setB gives every copy the same B [M]; untrained, it is folded into C.
func (p *Params) setB(b []complex128) {
	dst := p.C
	if p.TrainB {
		dst = p.B
	}
	for i := range dst {
		dst[i] *= b[i%len(b)]
	}
}

// linFreq is S4D-Lin: Im A_n = πn (spec §2.1).
func linFreq(dState int) []float64 {
	freq := make([]float64, dState/2)
	for n := range freq {
		freq[n] = math.Pi * float64(n)
	}
	return freq
}

// invFreq is S4D-Inv: Im A_n = (N/π)(N/(2n+1) − 1) (spec §2.1).
func invFreq(dState int) []float64 {
	freq := make([]float64, dState/2)
	size := float64(dState)
	for n := range freq {
		freq[n] = size / math.Pi * (size/float64(2*n+1) - 1)
	}
	return freq
}

// layerwiseAngles is S4D-DFouT, option A (spec §2.6): θ_{h,n} = 2π(nH + h)/(NH), so that the layer's poles
// together form one uniform grid of NH/2 angles on [0, π).
func (p *Params) layerwiseAngles() {
	h, m := p.DModel, p.Modes()
	spacing := 2 * math.Pi / float64(p.DState*h)
	for c := range h {
		for n := range m {
			p.Freq[c*m+n] = spacing * float64(n*h+c)
		}
	}
}
