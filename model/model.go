package model

import (
	"fmt"
	"math"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// New returns a network with initial weights (docs/maths.md §3.5, and ssm.New for every layer).
// They depend only on the configuration and the seed.
func New(c Config, seed uint64) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := &Model{Config: c, Weights: NewWeights(c)}
	for i := range c.CountSSM() {
		p, err := ssm.New(c.ssmConfig(), seed, i)
		if err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
		m.Weights.Layers[i].setSSM(p)
	}
	for i, t := range m.Weights.Tensors() {
		t.initialise(random.New(seed, random.Weights, 0, i), c)
	}
	return m, nil
}

// initialise fills a tensor that is not part of an SSM.
func (t Tensor) initialise(draw random.Stream, c Config) {
	switch t.Kind {
	case KindWeight, KindBias:
		fanIn := c.DModel
		switch {
		case t.Part == PartEncoder:
			fanIn = c.DInput
		case t.Name == compareWeight, t.Name == compareBias:
			fanIn = 4 * c.DModel
		}
		bound := 1 / math.Sqrt(float64(fanIn))
		for i := range t.Data {
			t.Data[i] = float32((2*draw.Float64(uint64(i)) - 1) * bound)
		}
	case KindEmbedding:
		for i := range t.Data {
			t.Data[i] = float32(draw.Normal(uint64(i)))
		}
	}
	if t.isNormScale() {
		for i := range t.Data {
			t.Data[i] = 1
		}
	}
}

// isNormScale reports whether the tensor is initially 1: a norm's weight or running variance.
func (t Tensor) isNormScale() bool {
	switch t.Kind {
	case KindNorm:
		return strings.HasSuffix(t.Name, "weight")
	case KindBuffer:
		return strings.HasSuffix(t.Name, "var")
	}
	return false
}

// ssmConfig returns the SSM's configuration with the network's width.
func (c Config) ssmConfig() ssm.Config {
	s := c.SSM
	s.DModel = c.DModel
	return s
}

// SSMParams returns a layer's SSM parameters in float64. The layer must have an SSM.
func (m *Model) SSMParams(layer int) *ssm.Params {
	p := ssm.NewParams(m.Config.ssmConfig())
	m.Weights.Layers[layer].FillSSM(p)
	return p
}

// NewSSMParams allocates SSM parameters for a layer of this configuration.
func (c Config) NewSSMParams() *ssm.Params { return ssm.NewParams(c.ssmConfig()) }

// FillSSM copies the layer's SSM parameters to p, which has the same configuration.
func (l *Layer) FillSSM(p *ssm.Params) {
	widen(p.Step, l.Step)
	widen(p.Decay, l.Decay)
	widen(p.Freq, l.Freq)
	widen(p.Omega, l.Omega)
	widen(p.D, l.D)
	widenComplex(p.C, l.C)
	widenComplex(p.P, l.P)
	if l.B != nil {
		widenComplex(p.B, l.B)
	}
}

// setSSM stores parameters in the layer.
func (l *Layer) setSSM(p *ssm.Params) {
	narrow(l.Step, p.Step)
	narrow(l.Decay, p.Decay)
	narrow(l.Freq, p.Freq)
	narrow(l.Omega, p.Omega)
	narrow(l.D, p.D)
	narrowComplex(l.C, p.C)
	narrowComplex(l.P, p.P)
	if l.B != nil {
		narrowComplex(l.B, p.B)
	}
}

// AddSSM adds gradients in float64 to the layer's tensors.
func (l *Layer) AddSSM(g *ssm.Params) {
	add := func(dst []float32, src []float64) {
		for i, v := range src {
			dst[i] += float32(v)
		}
	}
	addComplex := func(dst []float32, src []complex128) {
		for i, v := range src {
			dst[2*i] += float32(real(v))
			dst[2*i+1] += float32(imag(v))
		}
	}
	add(l.Step, g.Step)
	add(l.Decay, g.Decay)
	add(l.Freq, g.Freq)
	add(l.D, g.D)
	addComplex(l.C, g.C)
	addComplex(l.P, g.P)
	if l.B != nil {
		addComplex(l.B, g.B)
	}
}

func widen(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func narrow(dst []float32, src []float64) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}

func widenComplex(dst []complex128, src []float32) {
	for i := range dst {
		dst[i] = complex(float64(src[2*i]), float64(src[2*i+1]))
	}
}

func narrowComplex(dst []float32, src []complex128) {
	for i, v := range src {
		dst[2*i], dst[2*i+1] = float32(real(v)), float32(imag(v))
	}
}
