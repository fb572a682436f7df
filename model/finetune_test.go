package model

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every tensor is in the encoder, the layers or the decoder, and in exactly one of them; the groups
// by kind divide the layers, except for the final norm, which is in no layer.
func TestGroups(t *testing.T) {
	c := Default()
	c.DModel, c.NLayers, c.Norm, c.PreNorm, c.FinalNorm, c.Pairs = 4, 12, NormBatch, true, true, true
	c.SSM.DState, c.SSM.TrainB = 4, true
	m := must.Get(New(c, 1))(t)
	count := func(x Tensor, groups ...string) (n int) {
		for _, g := range groups {
			if !slices.Contains(c.Groups(), g) {
				t.Fatalf("%q is not in Groups", g)
			}
			if x.In(g) {
				n++
			}
		}
		return n
	}
	members := map[string]int{}
	for _, x := range m.Weights.Tensors() {
		must.Equal(t, count(x, "encoder", "layers", "decoder"), 1, "parts of %s", x.Name)
		if x.In("layers") {
			must.Equal(t, count(x, "ssm", "mixing", "norm"), 1, "kinds of %s", x.Name)
		}
		for _, g := range c.Groups() {
			if x.In(g) {
				members[g]++
			}
		}
	}
	for _, g := range c.Groups() {
		want := map[string]int{"encoder": 2, "layers": 12*12 + 4, "ssm": 12 * 6, "mixing": 12 * 2, "norm": 13 * 4, "decoder": 4}[g]
		if want == 0 { // a layer: six tensors of the SSM, two of the mixing, four of the norm
			want = 12
		}
		must.Equal(t, members[g], want, "tensors in %s", g)
	}
}

// WithOutputs keeps the rows that it is told to, draws the others as New does, and copies the rest.
func TestWithOutputs(t *testing.T) {
	c := Default()
	c.DModel, c.NLayers, c.DOutput = 8, 2, 3
	c.SSM.DState = 4
	m := must.Get(New(c, 1))(t)
	for i := range m.Weights.Flat() {
		m.Weights.Flat()[i] += 0.5
	}
	before := slices.Clone(m.Weights.Flat())
	rows := []int{2, -1, 0, -1}
	out := must.Get(m.WithOutputs(rows, 7))(t)
	c.DOutput = 4
	fresh := must.Get(New(c, 7))(t)
	for o, row := range rows {
		weight, bias := fresh.Weights.DecoderWeight[8*o:8*o+8], fresh.Weights.DecoderBias[o]
		if row >= 0 {
			weight, bias = m.Weights.DecoderWeight[8*row:8*row+8], m.Weights.DecoderBias[row]
		}
		if !slices.Equal(out.Weights.DecoderWeight[8*o:8*o+8], weight) || out.Weights.DecoderBias[o] != bias {
			t.Errorf("output %d: weights %v and bias %v, expected %v and %v", o, out.Weights.DecoderWeight[8*o:8*o+8], out.Weights.DecoderBias[o], weight, bias)
		}
	}
	for i, x := range out.Weights.Tensors() {
		if !x.In("decoder") && !slices.Equal(x.Data, m.Weights.Tensors()[i].Data) {
			t.Errorf("%s differs", x.Name)
		}
	}
	clear(out.Weights.Flat())
	if !slices.Equal(m.Weights.Flat(), before) {
		t.Error("the models share memory")
	}
	must.Reject(m.WithOutputs(nil, 1))(t, "model: d_output 0: expected ≥ 1")
}
