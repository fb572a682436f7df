package convmode

import (
	"math"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// noise returns standard normal numbers.
func noise(seed uint64, count int) []float32 {
	r := random.New(seed, random.Signal, 0, 0)
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(r.Normal(uint64(i)))
	}
	return x
}

// tiny is the configuration that tests vary. H = 6 leaves incomplete tiles and blocks of channels.
func tiny() model.Config {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 3, 6, 2
	c.SSM.DState, c.SSM.Init = 8, ssm.Lin
	return c
}

// newModel returns a model in which no tensor has its initial value, so that no scale is 1 and no
// shift 0.
func newModel(t testing.TB, c model.Config) *model.Model {
	t.Helper()
	m := must.Get(model.New(c, 7))(t)
	for i, tensor := range m.Weights.Tensors() {
		if tensor.Kind == model.KindNorm || tensor.Kind == model.KindBuffer || strings.HasSuffix(tensor.Name, ".u") || strings.HasSuffix(tensor.Name, ".A_real") {
			for j, v := range noise(uint64(100+i), len(tensor.Data)) {
				tensor.Data[j] += 0.2 * float32(math.Tanh(float64(v)))
			}
		}
	}
	return m
}

func newNet(t testing.TB, m *model.Model, o Options) *Net {
	t.Helper()
	n := must.Get(New(m, o))(t)
	t.Cleanup(n.Close)
	return n
}

// newBatch returns a batch of random input; lengths, if given, are its true lengths.
func newBatch(c model.Config, seed uint64, size, length int, lengths ...int) Batch {
	b := Batch{Size: size, Len: length, Lengths: lengths}
	if c.Encoder == model.EncoderEmbedding {
		r := random.New(seed, random.Signal, 0, 1)
		b.Tokens = make([]int32, size*length)
		for i := range b.Tokens {
			b.Tokens[i] = int32(r.Uint64(uint64(i)) % uint64(c.DInput))
		}
		return b
	}
	b.X = noise(seed, size*c.DInput*length)
	return b
}

// logitCount returns the number of logits of a batch.
func logitCount(c model.Config, b Batch) int {
	if c.Pool == model.PoolNone {
		return b.Size * c.DOutput * b.Len
	}
	return b.Size / c.Towers() * c.DOutput
}

// relative returns |got − want| / |want| in the Euclidean norm, or |got| where want is 0.
func relative(got []float32, want []float64) float64 {
	diff := make([]float64, len(want))
	for i, w := range want {
		diff[i] = float64(got[i]) - w
	}
	if size := norm2(want); size > 0 {
		return norm2(diff) / size
	}
	return norm2(diff)
}

// sameBits reports the first difference of two slices.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s[%d] = %v, expected the bits of %v", what, i, got[i], want[i])
		}
	}
}

// blockOutput returns a copy of x_{i+1} of the last ForwardTrain, the output of block i,
// [Size][H][Len].
func blockOutput(n *Net, i int) (out []float32) {
	p := &n.pass
	for b := range p.size {
		for h := range n.cfg.DModel {
			out = append(out, p.row(n.inputs[i+1].x, b, h)...)
		}
	}
	return out
}
