package convmode

import (
	"math"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// reference is a second implementation of the network: naive, in float64, without FFT. Arrays are
// row-major; activations are [B][H][L].
type reference struct {
	model.Config
	weights   *model.Weights         // names the arrays, see at
	values    map[*float32][]float64 // by the first element of a tensor
	stepScale float64                // training samples per sample
}

// newReference converts the weights of a model.
func newReference(m *model.Model, stepScale float64) *reference {
	n := &reference{m.Config, m.Weights, map[*float32][]float64{}, stepScale}
	for _, t := range m.Weights.Tensors() {
		for _, v := range t.Data {
			n.values[&t.Data[0]] = append(n.values[&t.Data[0]], float64(v))
		}
	}
	return n
}

// at returns the values of a tensor in float64, or nil if the model does not have the tensor.
func (n *reference) at(tensor []float32) []float64 {
	if len(tensor) == 0 {
		return nil
	}
	return n.values[&tensor[0]]
}

// referenceBatch is the input.
type referenceBatch struct {
	Batch
	X            []float64   // [Size][DInput][Len]
	Train        bool        // batch norms use the batch's statistics
	Inner, Outer [][]float64 // [layer][Size·H] factors of dropout; nil: 1
}

func (b *referenceBatch) length(i int) int {
	if b.Lengths == nil {
		return b.Len
	}
	return b.Lengths[i]
}

// referenceResult has the outputs.
type referenceResult struct {
	Blocks [][]float64 // [layer][B][H][L]
	Logits []float64   // [B][DOutput], [B/2][DOutput] of pairs, or [B][DOutput][L]

	// The running statistics of batch norms after this batch, in the order of the model's tensors.
	Running [][]float64
}

// Forward runs the network (docs/maths.md §3).
func (n *reference) Forward(b referenceBatch) *referenceResult {
	w, result, length := n.weights, &referenceResult{}, b.Len
	x := n.encode(&b)
	for i := range w.Layers {
		x = n.block(result, i, &b, x)
		result.Blocks = append(result.Blocks, x)
	}
	if n.FinalNorm {
		x = n.norm(result, &model.Layer{NormWeight: w.NormWeight, NormBias: w.NormBias, RunningMean: w.RunningMean, RunningVar: w.RunningVar}, &b, x)
	}
	if n.Pool != model.PoolNone {
		x, length = n.pool(&b, x), 1
	}
	if n.Pairs {
		x = linear(n.at(w.CompareWeight), n.at(w.CompareBias), n.pairFeatures(x), 1)
		x = each(x, func(_ int, v float64) float64 { return v * phi(v) })
	}
	result.Logits = linear(n.at(w.DecoderWeight), n.at(w.DecoderBias), x, length)
	return result
}

// Slope returns the derivative of Σ d·logits in a direction of the weights, which has one element
// for each of Weights.Tensors(): the central difference, extrapolated from two steps.
func (n *reference) Slope(b referenceBatch, d []float64, direction [][]float64) float64 {
	largest := 0.0
	for _, move := range direction {
		for _, v := range move {
			largest = max(largest, math.Abs(v))
		}
	}
	moved := func(step float64) (sum float64) {
		other := *n
		other.values = map[*float32][]float64{}
		for i, t := range n.weights.Tensors() {
			other.values[&t.Data[0]] = each(n.at(t.Data), func(k int, v float64) float64 { return v + step*direction[i][k] })
		}
		for i, v := range other.Forward(b).Logits {
			sum += d[i] * v
		}
		return sum
	}
	slope := func(step float64) float64 { return (moved(step) - moved(-step)) / (2 * step) }
	step := 2e-5 / largest
	return (4*slope(step) - slope(2*step)) / 3
}

// block: x → norm → mask → SSM → activation → dropout → mixing → dropout → residual → norm
// (docs/maths.md §3.2).
func (n *reference) block(result *referenceResult, i int, b *referenceBatch, x []float64) []float64 {
	l, u := &n.weights.Layers[i], x
	if n.PreNorm {
		u = n.norm(result, l, b, x)
	}
	s := each(u, func(k int, v float64) float64 { // zero the padding
		if k%b.Len < b.length(k/b.Len/n.DModel) {
			return v
		}
		return 0
	})
	if n.HasSSM(i) {
		s = n.sequence(l, s, b.Len)
	}
	dropout := func(x []float64, factors [][]float64) []float64 {
		if factors == nil {
			return x
		}
		return each(x, func(k int, v float64) float64 { return v * factors[i][k/b.Len] })
	}
	y := dropout(n.mix(l, dropout(each(s, n.activate), b.Inner), s, b.Len), b.Outer)
	if n.Residual {
		y = each(y, func(k int, v float64) float64 { return v + x[k] })
	}
	if n.PreNorm {
		return y
	}
	return n.norm(result, l, b, y)
}

// sequence applies the SSM of a block to u.
func (n *reference) sequence(l *model.Layer, u []float64, length int) []float64 {
	p := n.NewSSMParams()
	p.Step, p.Gamma, p.Decay, p.Freq, p.D = n.at(l.Step), n.at(l.Gamma), n.at(l.Decay), n.at(l.Freq), n.at(l.D)
	p.P, p.C = complexes(n.at(l.P)), complexes(n.at(l.C))
	if l.B != nil {
		p.B = complexes(n.at(l.B))
	}
	return apply(p, n.stepScale, u, length)
}

// apply returns the output of a layer for u [·][H][length].
func apply(p *ssm.Params, stepScale float64, u []float64, length int) []float64 {
	if p.MIMO() {
		return scan(p, stepScale, u, length)
	}
	return convolve(u, p.D, kernels(p, stepScale, length), length)
}

func complexes(x []float64) []complex128 {
	z := make([]complex128, len(x)/2)
	for i := range z {
		z[i] = complex(x[2*i], x[2*i+1])
	}
	return z
}

// each returns f of every index and element.
func each(x []float64, f func(k int, v float64) float64) []float64 {
	y := make([]float64, len(x))
	for k, v := range x {
		y[k] = f(k, v)
	}
	return y
}

// kernels returns the kernels of a layer of single-channel SSMs, [directions·H][taps].
func kernels(p *ssm.Params, stepScale float64, length int) [][]float64 {
	if p.LMax > 0 {
		length = min(length, max(1, int(math.Round(float64(p.LMax)/stepScale))))
	}
	list := make([][]float64, p.Directions()*p.DModel)
	for r := range list {
		list[r] = make([]float64, length)
		if p.Layer == ssm.LayerS4 {
			s4Kernel(p, stepScale, r, list[r])
			continue
		}
		for m := range p.Modes() {
			addMode(p, stepScale, r, m, list[r])
		}
	}
	return list
}
