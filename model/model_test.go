package model

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func mustNew(t testing.TB, c Config, seed uint64) *Model {
	t.Helper()
	return must.Get(New(c, seed))(t)
}

// A network is a function of configuration and seed, and no two tensors have the same numbers.
func TestNewIsDeterministic(t *testing.T) {
	for name, c := range variants() {
		a, b, other := mustNew(t, c, 5), mustNew(t, c, 5), mustNew(t, c, 6)
		must.Equal(t, a.Hash(), b.Hash(), "%s: hash of a network with the same seed", name)
		for i, x := range a.Weights.Tensors() {
			drawn := x.Kind == KindWeight || x.Kind == KindBias || x.Kind == KindEmbedding || x.Kind == KindC || x.Kind == KindD || x.Kind == KindStep
			if drawn && slices.Equal(x.Data, other.Weights.Tensors()[i].Data) {
				t.Errorf("%s: %s does not depend on the seed", name, x.Name)
			}
			for _, y := range a.Weights.Tensors()[:i] {
				if drawn && y.Kind == x.Kind && slices.Equal(x.Data[:3], y.Data[:3]) {
					t.Errorf("%s: %s and %s begin with the same values", name, x.Name, y.Name)
				}
			}
		}
	}
}

// docs/maths.md §3.5: linear layers uniform in ±1/√fan_in, embeddings normal, norms 1 and 0.
func TestInitialWeights(t *testing.T) {
	c := Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 40, 200, 100, 1, 4
	c.Norm = NormBatch
	w := mustNew(t, c, 3).Weights
	for name, tt := range map[string]struct {
		data  []float32
		fanIn float64
	}{
		"encoder.weight": {w.EncoderWeight, 40}, "encoder.bias": {w.EncoderBias, 40},
		"mix.weight": {w.Layers[0].MixWeight, 100}, "mix.bias": {w.Layers[0].MixBias, 100},
		"decoder.weight": {w.DecoderWeight, 100}, "decoder.bias": {w.DecoderBias, 100},
	} {
		bound := 1 / math.Sqrt(tt.fanIn)
		mean, variance, largest := moments(tt.data)
		n := float64(len(tt.data))
		if largest > bound || largest < bound*(1-30/n) {
			t.Errorf("%s: largest magnitude %v, bound %v", name, largest, bound)
		}
		if sigma := bound / math.Sqrt(3); math.Abs(mean) > 4*sigma/math.Sqrt(n) || math.Abs(variance/(sigma*sigma)-1) > 4/math.Sqrt(n) {
			t.Errorf("%s: mean %v, variance %v; expected 0 and %v", name, mean, variance, sigma*sigma)
		}
	}
	for name, want := range map[string]float32{"weight": 1, "bias": 0, "running_mean": 0, "running_var": 1} {
		l := w.Layers[0]
		data := map[string][]float32{"weight": l.NormWeight, "bias": l.NormBias, "running_mean": l.RunningMean, "running_var": l.RunningVar}[name]
		if len(data) != 100 || slices.ContainsFunc(data, func(v float32) bool { return v != want }) {
			t.Errorf("norm.%s: %v, expected %v throughout", name, data, want)
		}
	}
	c.Encoder = EncoderEmbedding
	mean, variance, largest := moments(mustNew(t, c, 3).Weights.EncoderWeight)
	if math.Abs(mean) > 0.07 || math.Abs(variance-1) > 0.1 || largest < 3 || largest > 5 {
		t.Errorf("embedding: mean %v, variance %v, largest %v: not normal", mean, variance, largest)
	}
}

func moments(x []float32) (mean, variance, largest float64) {
	for _, v := range x {
		mean += float64(v)
		largest = max(largest, math.Abs(float64(v)))
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x)), largest
}

// A layer's tensors are ssm.New's parameters rounded to float32, and SSMParams returns them.
func TestSSMParams(t *testing.T) {
	for name, c := range variants() {
		m := mustNew(t, c, 9)
		for layer := range c.CountSSM() {
			want := must.Get(ssm.New(c.ssmConfig(), 9, layer))(t)
			got := m.SSMParams(layer)
			must.Equal(t, got.Config, want.Config, "%s: configuration", name)
			for field, pair := range map[string][2][]float64{
				"Step": {got.Step, want.Step}, "Decay": {got.Decay, want.Decay},
				"Freq": {got.Freq, want.Freq}, "D": {got.D, want.D},
				"B": {flat(got.B), flat(want.B)}, "C": {flat(got.C), flat(want.C)},
			} {
				for i := range pair[1] {
					pair[1][i] = float64(float32(pair[1][i]))
				}
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s, layer %d: %s is %v, expected %v", name, layer, field, pair[0], pair[1])
				}
			}
		}
	}
}

func flat(z []complex128) []float64 {
	var x []float64
	for _, v := range z {
		x = append(x, real(v), imag(v))
	}
	return x
}

// FillSSM reads what AddSSM added.
func TestAddSSM(t *testing.T) {
	for name, c := range variants() {
		m := mustNew(t, c, 4)
		grads := NewWeights(c)
		p := m.SSMParams(0)
		for range 2 {
			grads.Layers[0].AddSSM(p)
		}
		for i, x := range grads.Tensors() {
			src := m.Weights.Tensors()[i]
			isSSM := x.Kind <= KindD && len(x.Name) > 9 && x.Name[:9] == "layers.0."
			for j, v := range x.Data {
				want := float32(0)
				if isSSM {
					want = 2 * src.Data[j]
				}
				if v != want {
					t.Fatalf("%s: %s[%d] is %v, expected %v", name, x.Name, j, v, want)
				}
			}
		}
	}
}

func TestArgMax(t *testing.T) {
	for want, x := range [][]float32{{3, 1, 3}, {-5, -1, -2}, {0, 0, 1}} {
		must.Equal(t, ArgMax(x), want, "ArgMax(%v)", x)
	}
}

func TestPosterior(t *testing.T) {
	for _, tt := range []struct{ logits, want []float32 }{
		{[]float32{0, 0}, []float32{0.5, 0.5}},
		{[]float32{0, float32(math.Log(3))}, []float32{0.25, 0.75}},
		{[]float32{1000, 0, -1000}, []float32{1, 0, 0}},
	} {
		got := Posterior(nil, tt.logits)
		for i := range got {
			if math.Abs(float64(got[i]-tt.want[i])) > 1e-7 {
				t.Errorf("Posterior(%v) = %v, expected %v", tt.logits, got, tt.want)
			}
		}
	}
}

func TestAffine(t *testing.T) {
	m := Meta{InputMean: []float32{2, -1}, InputStd: []float32{0.5, 4}}
	for channel, want := range [][2]float32{{2, -4}, {0.25, 0.25}, {1, 0}} {
		if scale, shift := m.Affine(channel); scale != want[0] || shift != want[1] {
			t.Errorf("channel %d: x·%v + %v, expected x·%v + %v", channel, scale, shift, want[0], want[1])
		}
	}
}
