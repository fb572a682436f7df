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

// field is an array of a layer's SSM parameters, with its place in ssm.Params.
type field[T float64 | complex128] struct {
	layer  []float32
	params []T
}

func (l *Layer) reals(p *ssm.Params) [5]field[float64] {
	return [...]field[float64]{{l.Step, p.Step}, {l.Gamma, p.Gamma}, {l.Decay, p.Decay}, {l.Freq, p.Freq}, {l.D, p.D}}
}

func (l *Layer) complexes(p *ssm.Params) [3]field[complex128] {
	return [...]field[complex128]{{l.B, p.B}, {l.C, p.C}, {l.P, p.P}}
}

// FillSSM copies the layer's SSM parameters to p, which has the same configuration.
func (l *Layer) FillSSM(p *ssm.Params) {
	for _, a := range l.reals(p) {
		for i, v := range a.layer {
			a.params[i] = float64(v)
		}
	}
	for _, a := range l.complexes(p) {
		for i := range len(a.layer) / 2 {
			a.params[i] = complex(float64(a.layer[2*i]), float64(a.layer[2*i+1]))
		}
	}
}

func (l *Layer) setSSM(p *ssm.Params) {
	for _, a := range l.reals(p) {
		for i := range a.layer {
			a.layer[i] = float32(a.params[i])
		}
	}
	for _, a := range l.complexes(p) {
		for i := range len(a.layer) / 2 {
			a.layer[2*i], a.layer[2*i+1] = float32(real(a.params[i])), float32(imag(a.params[i]))
		}
	}
}

// AddSSM adds gradients in float64 to the layer's tensors.
func (l *Layer) AddSSM(g *ssm.Params) {
	for _, a := range l.reals(g) {
		for i := range a.layer {
			a.layer[i] += float32(a.params[i])
		}
	}
	for _, a := range l.complexes(g) {
		for i := range len(a.layer) / 2 {
			a.layer[2*i] += float32(real(a.params[i]))
			a.layer[2*i+1] += float32(imag(a.params[i]))
		}
	}
}
