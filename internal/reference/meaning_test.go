package reference

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// Other tests compare Backward with differences of Forward. These tests compare Forward with
// independent formulas.

func normals(r *rand.Rand, n int) []float64 {
	x := zeros(n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func normalPairs(r *rand.Rand, n int) []complex128 {
	z := make([]complex128, n)
	for i := range z {
		z[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	return z
}

// randomLayer fills the SSM of a layer.
func randomLayer(r *rand.Rand, c Config) *Layer {
	n := &Network{Config: c}
	l := &Layer{
		LogStep: normals(r, c.H), LogDecay: normals(r, c.Copies*c.M), Freq: normals(r, c.Copies*c.M),
		B: normalPairs(r, c.Copies*c.M), C: normalPairs(r, n.directions()*c.H*c.M), D: normals(r, c.H),
	}
	for h := range l.LogStep {
		l.LogStep[h] -= 2
	}
	return l
}

// discrete returns λ̄ and B̄ of a mode by the formulas of docs/maths.md §1.3, §2.4 and §15.
func discrete(c Config, l *Layer, h, m int) (lambda, bbar complex128) {
	k := h%c.Copies*c.M + m
	if c.Discrete { // λ̄ = e^(ra), B̄ = B·ξ(e^a − 1)/a·(e^(ra) − 1)/(e^a − 1)
		xi := math.Exp(l.LogStep[h])
		a := complex(-math.Exp(l.LogDecay[k])*xi, l.Freq[k])
		r := complex(c.StepScale, 0)
		power := cmplx.Pow(cmplx.Exp(a), r)
		return power, l.B[k] * complex(xi, 0) / a * (power - 1)
	}
	dt, a := complex(c.StepScale*math.Exp(l.LogStep[h]), 0), complex(-math.Exp(l.LogDecay[k]), l.Freq[k])
	if c.Bilinear { // λ̄ = (1 + ΔA/2)/(1 − ΔA/2), B̄ = BΔ/(1 − ΔA/2)
		return (1 + dt*a/2) / (1 - dt*a/2), l.B[k] * dt / (1 - dt*a/2)
	}
	return cmplx.Exp(dt * a), l.B[k] * (cmplx.Exp(dt*a) - 1) / a
}

// recur runs the SSM as a recurrence: h ← λ̄h + B̄x, y = 2·Re Ch + Dx. The second direction runs
// backwards in time, and its output is delayed by one sample (docs/maths.md §1.1, §1.5, §6).
func recur(c Config, l *Layer, h int, x []float64) []float64 {
	y := zeros(len(x))
	for t, v := range x {
		y[t] = l.D[h] * v
	}
	for m := range c.M {
		lambda, bbar := discrete(c, l, h, m)
		state := complex128(0)
		for t, v := range x {
			state = lambda*state + bbar*complex(v, 0)
			y[t] += 2 * real(l.C[h*c.M+m]*state)
		}
		if !c.Bidirectional {
			continue
		}
		state = 0
		for t := len(x) - 1; t >= 0; t-- {
			y[t] += 2 * real(l.C[(c.H+h)*c.M+m]*state)
			state = lambda*state + bbar*complex(x[t], 0)
		}
	}
	return y
}

func TestConvolutionIsRecurrence(t *testing.T) {
	for name, c := range map[string]Config{
		"ZOH":                  {Copies: 4, StepScale: 1},
		"ZOH, step scale":      {Copies: 4, StepScale: 2},
		"bilinear":             {Copies: 4, StepScale: 1, Bilinear: true},
		"bilinear, step scale": {Copies: 4, StepScale: 0.5, Bilinear: true},
		"DFouT":                {Copies: 4, StepScale: 1, Discrete: true},
		"DFouT, step scale":    {Copies: 4, StepScale: 2, Discrete: true},
		"tied":                 {Copies: 2, StepScale: 1},
		"one copy":             {Copies: 1, StepScale: 1, Bidirectional: true},
		"bidirectional":        {Copies: 4, StepScale: 1, Bidirectional: true},
	} {
		c.H, c.M = 4, 3
		r := rand.New(rand.NewPCG(1, 2))
		n, l, b := &Network{Config: c}, randomLayer(r, c), &Batch{Size: 2, Len: 11}
		x := normals(r, b.Size*c.H*b.Len)
		y := convolve(x, l.D, n.kernels(l, b.Len), b.Len)
		for row := range b.Size * c.H {
			from, to := row*b.Len, (row+1)*b.Len
			compare(t, fmt.Sprintf("%s, row %d", name, row), y[from:to], recur(c, l, row%c.H, x[from:to])...)
		}
	}
}

// docs/maths.md §1.5: the kernel is truncated to L_k = min(L, round(l_max/r)) taps, here at least
// one.
func TestTruncation(t *testing.T) {
	for _, c := range []struct {
		lMax      int
		stepScale float64
		want      int
	}{{0, 1, 10}, {4, 1, 4}, {20, 1, 10}, {8, 2, 4}, {4, 0.5, 8}, {9, 0.5, 10}, {1, 4, 1}} {
		n := &Network{Config: Config{H: 2, M: 2, Copies: 2, StepScale: c.stepScale, Bidirectional: true}}
		l := randomLayer(rand.New(rand.NewPCG(3, 4)), n.Config)
		whole := n.kernels(l, 10)
		n.LMax = c.lMax
		for i, k := range n.kernels(l, 10) {
			compare(t, fmt.Sprintf("l_max %d, step scale %v, kernel %d", c.lMax, c.stepScale, i), k, whole[i][:c.want]...)
		}
	}
}

// randomNetwork returns two blocks with the layer's SSM and a linear mixing.
func randomNetwork(c Config) *Network {
	r := rand.New(rand.NewPCG(5, 6))
	c.DInput, c.DOutput, c.H, c.M, c.Copies, c.StepScale, c.NLayers = 2, 3, 4, 2, 4, 1, 2
	c.Mixing, c.Activation, c.Residual = "linear", "gelu", true
	c.NormEps, c.NormMomentum = 1e-5, 0.1
	norm := func() Norm { return Norm{Weight: normals(r, c.H), Bias: normals(r, c.H)} }
	n := &Network{
		Config: c, EncW: normals(r, c.H*c.DInput), EncB: normals(r, c.H),
		DecW: normals(r, c.DOutput*c.H), DecB: normals(r, c.DOutput), Norm: norm(),
	}
	for range c.NLayers {
		l := randomLayer(r, c)
		l.MixW, l.MixB, l.Norm = normals(r, c.H*c.H), normals(r, c.H), norm()
		n.Layers = append(n.Layers, *l)
	}
	return n
}

// A padded sequence has the same result as alone, whatever the padding contains (docs/maths.md
// §3.1, §3.4).
func TestPaddingIsNotSeen(t *testing.T) {
	const length, channels = 9, 2
	for _, pool := range []string{"mean", "last", "none"} {
		for _, prenorm := range []bool{false, true} {
			n := randomNetwork(Config{Bidirectional: true, NormKind: "layer", PreNorm: prenorm, FinalNorm: prenorm, Pool: pool})
			lengths := []int{length, 4, 1}
			x := normals(rand.New(rand.NewPCG(7, 8)), len(lengths)*channels*length)
			padded := n.Forward(Batch{Size: len(lengths), Len: length, X: x, Lengths: lengths}).Logits
			per := len(padded) / len(lengths) / n.DOutput // positions with an output
			for i, own := range lengths {
				var cut []float64
				for c := range channels {
					from := (i*channels + c) * length
					cut = append(cut, x[from:from+own]...)
				}
				alone := n.Forward(Batch{Size: 1, Len: own, X: cut}).Logits
				for o := range n.DOutput {
					at, positions := (i*n.DOutput+o)*per, len(alone)/n.DOutput
					name := fmt.Sprintf("pool %s, prenorm %v, sequence %d, output %d", pool, prenorm, i, o)
					compare(t, name, padded[at:at+positions], alone[o*positions:(o+1)*positions]...)
				}
			}
		}
	}
}

// Without lengths the mean is over all positions, and last is the last one.
func TestPools(t *testing.T) {
	n := &Network{Config: Config{H: 2, DOutput: 1}, DecW: []float64{1, 10}, DecB: []float64{0.5}}
	top := []float64{1, 2, 6, 4, 5, 9} // [1][2][3]
	for pool, want := range map[string][]float64{
		"mean": {3 + 60 + 0.5}, "last": {6 + 90 + 0.5}, "none": {41.5, 52.5, 96.5},
	} {
		n.Pool = pool
		_, logits := n.decode(&Batch{Size: 1, Len: 3}, top)
		compare(t, pool, logits, want...)
	}
}

// docs/maths.md §3.3 by hand: one channel with mean 3 and variance 3.5 (unbiased 14/3). The running
// statistics before the batch are 10 and 2.
func TestBatchNorm(t *testing.T) {
	n := &Network{Config: Config{H: 1, NormKind: "batch", NormEps: 1e-5, NormMomentum: 0.1}}
	p := Norm{Weight: []float64{2}, Bias: []float64{7}, Mean: []float64{10}, Var: []float64{2}}
	x := []float64{1, 2, 3, 6}
	for _, c := range []struct {
		train          bool
		mean, variance float64
	}{{true, 3, 3.5}, {false, 10, 2}} {
		y, tape := n.norm(p, &Batch{Size: 2, Len: 2, Train: c.train}, x)
		var want []float64
		for _, v := range x {
			want = append(want, 2*(v-c.mean)/math.Sqrt(c.variance+1e-5)+7)
		}
		compare(t, fmt.Sprintf("train %v", c.train), y, want...)
		if c.train {
			compare(t, "running mean", tape.Mean, 0.9*10+0.1*3)
			compare(t, "running variance", tape.Var, 0.9*2+0.1*14/3)
		}
	}
}

// The statistics of a batch norm include padding (docs/maths.md §3.3).
func TestBatchNormCountsPadding(t *testing.T) {
	n := randomNetwork(Config{NormKind: "batch", PreNorm: true, Pool: "mean"})
	for i := range n.Layers {
		n.Layers[i].Norm.Mean, n.Layers[i].Norm.Var = zeros(n.H), zeros(n.H)
	}
	b := Batch{Size: 2, Len: 5, X: normals(rand.New(rand.NewPCG(9, 10)), 2*2*5), Lengths: []int{5, 2}, Train: true}
	tape := n.Forward(b)
	for h := range n.H {
		mean := 0.0
		for i := range b.Size {
			for _, v := range tape.Blocks[0].In[(i*n.H+h)*b.Len : (i*n.H+h+1)*b.Len] {
				mean += v / 10
			}
		}
		compare(t, "running mean", tape.Blocks[0].NormTape.Mean[h:h+1], 0.1*mean)
	}
}

// Each block has its own factors. Outer factors of 0 in the second block remove its output. Inner
// factors of 0 leave only the bias of the mixing.
func TestDropoutPlaces(t *testing.T) {
	n := randomNetwork(Config{NormKind: "none", Pool: "mean"})
	b := Batch{Size: 2, Len: 3, X: normals(rand.New(rand.NewPCG(11, 12)), 2*2*3)}
	plain := n.Forward(b)
	ones := zeros(b.Size * n.H)
	for i := range ones {
		ones[i] = 1
	}
	off := [][]float64{ones, zeros(len(ones))}

	b.Outer = off
	tape := n.Forward(b)
	compare(t, "first block", tape.Blocks[0].Out, plain.Blocks[0].Out...)
	compare(t, "outer", tape.Blocks[1].Out, plain.Blocks[0].Out...)

	b.Outer, b.Inner = nil, off
	tape = n.Forward(b)
	compare(t, "first block", tape.Blocks[0].Out, plain.Blocks[0].Out...)
	want := zeros(len(plain.Blocks[0].Out))
	for k, v := range plain.Blocks[0].Out {
		want[k] = v + n.Layers[1].MixB[k/b.Len%n.H]
	}
	compare(t, "inner", tape.Blocks[1].Out, want...)
}

// Only training has a backward pass of a batch norm.
func TestBackwardAfterInference(t *testing.T) {
	n := randomNetwork(Config{NormKind: "batch", Pool: "mean"})
	for i := range n.Layers {
		n.Layers[i].Norm.Mean, n.Layers[i].Norm.Var = zeros(n.H), zeros(n.H)
	}
	tape := n.Forward(Batch{Size: 1, Len: 2, X: zeros(4)})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	n.Backward(tape, zeros(len(tape.Logits)))
}

func compare(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) < 1e-12) {
			t.Errorf("%s[%d] = %.15g, expected %.15g", what, i, got[i], w)
		}
	}
}
