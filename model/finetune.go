package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Groups returns the names of the groups of tensors that training can freeze:
//
//	encoder   the map from the input
//	layers    everything between encoder and decoder
//	layers.I  layer I, from 0
//	ssm       the SSMs of all layers
//	mixing    the position-wise maps of all layers
//	norm      all norms, with their running statistics
//	decoder   the map to the outputs
//
// Groups overlap.
func (c Config) Groups() []string {
	groups := []string{"encoder", "layers", "ssm", "mixing", "norm", "decoder"}
	for i := range c.NLayers {
		groups = append(groups, "layers."+strconv.Itoa(i))
	}
	return groups
}

// In reports whether the tensor is in a group of Config.Groups.
func (t Tensor) In(group string) bool {
	switch group {
	case "encoder":
		return t.Part == PartEncoder
	case "layers":
		return t.Part == PartBackbone
	case "ssm":
		return slices.Contains([]Kind{KindStep, KindDecay, KindFreq, KindB, KindP, KindC, KindD}, t.Kind)
	case "mixing":
		return strings.Contains(t.Name, ".mix.")
	case "norm":
		return t.Kind == KindNorm || t.Kind == KindBuffer && strings.Contains(t.Name, "norm.")
	case "decoder":
		return t.Part == PartDecoder
	}
	return strings.HasPrefix(t.Name, group+".")
}

// ExtendKernels replaces C̃ of S4 layers, which belongs to length taps (0: it is C), by that of
// Config.SSM.LKernel taps, which KernelLength returns for length. It leaves other layers unchanged.
func (m *Model) ExtendKernels(length int) {
	if m.Config.SSM.Layer != ssm.LayerS4 || m.Config.SSM.LKernel == length {
		return
	}
	for i := range m.Config.CountSSM() {
		p := m.SSMParams(i)
		p.LKernel = length
		p.ExtendChannels(m.Config.SSM.LKernel, 0, p.DModel)
		m.Weights.Layers[i].setSSM(p)
	}
}

// WithOutputs returns a model of the same network with another decoder, without Meta. Its output o
// keeps the weights of m's output rows[o]; where that is −1 the weights are initial, as in New with
// the seed. The models share no memory.
func (m *Model) WithOutputs(rows []int, seed uint64) (*Model, error) {
	c := m.Config
	c.DOutput = len(rows)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	out := &Model{Config: c, Weights: NewWeights(c)}
	old := m.Weights.Tensors()
	for i, t := range out.Weights.Tensors() {
		if !strings.HasPrefix(t.Name, "decoder.") {
			copy(t.Data, old[i].Data)
			continue
		}
		t.initialise(random.New(seed, random.Weights, 0, i), c)
		width := len(t.Data) / c.DOutput
		for o, row := range rows {
			if row >= 0 {
				copy(t.Data[o*width:(o+1)*width], old[i].Data[row*width:])
			}
		}
	}
	return out, nil
}
