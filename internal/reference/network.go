// Package reference is a second implementation of the network, forward and backward: naive, in
// float64, without FFT. Tests compare every fast implementation with it, and only tests import it.
//
// Forward runs a Network on a Batch and returns a Tape with every intermediate result. Backward
// returns the gradient of every parameter as another Network. Arrays are row-major; activations are
// [B][H][L].
package reference

// Config selects what the network computes (docs/maths.md §3).
type Config struct {
	Embedding          bool // tokens instead of channels
	DInput, DOutput    int
	H, NLayers         int
	M, Copies          int  // complex modes per SSM, sets of poles
	Bidirectional      bool // C has two directions
	Discrete           bool // DFouT: a = −ρξ + iθ; else a = Δ·A
	Width              bool // of Discrete: θ = Omega + 2ρξ·Freq and B̄ ∝ 2ρξ; else θ = Freq and B̄ ∝ ξ
	Bilinear           bool
	Decimate           bool    // Discrete at other rates: r·K[rj]; else the sum of r taps
	Bandlimit          float64 // modes with an angle ≥ Bandlimit·π are silent; 0: none are
	LMax               int     // taps of the kernel, 0: all
	Pairs              bool    // sequences 2i and 2i+1 are compared
	SSMLayers          int     // blocks with an SSM, 0: all; the others have the identity
	StepScale          float64 // training samples per sample
	NormKind           string  // "layer", "batch", "none"
	NormEps            float64 // added to the variance
	NormMomentum       float64 // share of a batch in the running statistics of a batch norm
	NormBiased         bool    // the running variance is the biased one
	PreNorm, FinalNorm bool
	Residual           bool
	Activation         string // "gelu", "gelu-tanh", "none"
	Mixing             string // "glu", "half-glu1", "half-glu2", "linear", "none"
	Pool               string // "mean", "last", "none"
}

// Norm is the scale and shift of a norm, and the running statistics of a batch norm.
type Norm struct {
	Weight, Bias, Mean, Var []float64 // [H]
}

// Layer holds the parameters of one block. Channel h uses pole set h mod Copies. If Other is set,
// it takes the place of the SSM, and the arrays before MixW are empty.
type Layer struct {
	Other          Sequence
	LogStep        []float64    // [H]
	LogDecay, Freq []float64    // [Copies][M]
	Omega          []float64    // [Copies][M] of Width
	B              []complex128 // [Copies][M]
	C              []complex128 // [directions][H][M]
	D              []float64    // [H]
	MixW, MixB     []float64    // [2H or H][H], [2H or H]; 2H with "glu"
	Norm           Norm
}

// Network holds the parameters of a network, or their gradients.
type Network struct {
	Config
	EncW, EncB []float64 // [H][DInput], [H]; embedding: [DInput][H]
	Layers     []Layer
	Norm       Norm
	CmpW, CmpB []float64 // [H][4H], [H] of pairs
	DecW, DecB []float64 // [DOutput][H], [DOutput]
}

// Batch is the input.
type Batch struct {
	Size, Len    int
	X            []float64   // [Size][DInput][Len]
	Tokens       []int       // [Size][Len]
	Lengths      []int       // nil: all Len
	Train        bool        // batch norms use the batch's statistics
	Inner, Outer [][]float64 // [layer][Size·H] factors of dropout; nil: 1
}

func (b *Batch) length(i int) int {
	if b.Lengths == nil {
		return b.Len
	}
	return b.Lengths[i]
}

// Tape holds the results of Forward.
type Tape struct {
	Batch  Batch
	Blocks []BlockTape
	Last   []float64 // [B][H][L] the input of the final norm, if there is one
	Final  NormTape
	Top    []float64 // [B][H][L] the input of the pool
	Pooled []float64 // [B][H]
	Logits []float64 // [B][DOutput], [B/2][DOutput] of pairs, or [B][DOutput][L]
}

// BlockTape holds the intermediate results of one block, [B][H][L] unless stated otherwise.
type BlockTape struct {
	In, U    []float64   // the input of the block, and of the SSM (normalised, masked)
	Kernels  [][]float64 // [directions·H][taps]
	Conv     []float64   // the output of the SSM
	Active   []float64   // after activation and dropout
	Mixed    []float64   // [B][2H or H][L]
	Sum      []float64   // after the residual, before a post-norm
	Out      []float64
	NormTape NormTape
}

func zeros(n int) []float64 { return make([]float64, n) }

// zeroLike returns a network of zeros with n's shapes.
func (n *Network) zeroLike() *Network {
	g := &Network{
		Config: n.Config, EncW: zeros(len(n.EncW)), EncB: zeros(len(n.EncB)), Norm: n.Norm.zeroLike(),
		CmpW: zeros(len(n.CmpW)), CmpB: zeros(len(n.CmpB)), DecW: zeros(len(n.DecW)), DecB: zeros(len(n.DecB)),
	}
	for _, l := range n.Layers {
		g.Layers = append(g.Layers, Layer{
			LogStep: zeros(len(l.LogStep)), LogDecay: zeros(len(l.LogDecay)), Freq: zeros(len(l.Freq)),
			B: make([]complex128, len(l.B)), C: make([]complex128, len(l.C)), D: zeros(len(l.D)),
			MixW: zeros(len(l.MixW)), MixB: zeros(len(l.MixB)), Norm: l.Norm.zeroLike(),
		})
	}
	return g
}

func (n Norm) zeroLike() Norm {
	return Norm{Weight: zeros(len(n.Weight)), Bias: zeros(len(n.Bias)), Mean: zeros(len(n.Mean)), Var: zeros(len(n.Var))}
}

// Forward runs the network.
func (n *Network) Forward(b Batch) *Tape {
	t := &Tape{Batch: b}
	x := n.encode(&b)
	for i := range n.Layers {
		t.Blocks = append(t.Blocks, n.block(i, &b, x))
		x = t.Blocks[i].Out
	}
	t.Last, t.Top = x, x
	if n.FinalNorm {
		t.Top, t.Final = n.norm(n.Norm, &b, x)
	}
	if n.Pairs {
		t.Pooled = n.pool(&b, t.Top)
		t.Logits = n.comparePairs(&b, t.Pooled)
		return t
	}
	t.Pooled, t.Logits = n.decode(&b, t.Top)
	return t
}

// Backward returns the gradients for ∂loss/∂logits. It panics if a batch norm used running
// statistics.
func (n *Network) Backward(t *Tape, dLogits []float64) *Network {
	if n.NormKind == "batch" && !t.Batch.Train {
		panic("reference: Backward: the batch norm used running statistics")
	}
	g := n.zeroLike()
	var d []float64
	if n.Pairs {
		d = n.poolBack(&t.Batch, n.comparePairsBack(g, &t.Batch, t.Pooled, dLogits))
	} else {
		d = n.decodeBack(g, t, dLogits)
	}
	if n.FinalNorm {
		d = n.normBack(&g.Norm, n.Norm, &t.Batch, t.Last, t.Final, d)
	}
	for i := len(n.Layers) - 1; i >= 0; i-- {
		d = n.blockBack(g, i, t, d)
	}
	n.encodeBack(g, &t.Batch, d)
	return g
}

// block: x → norm → mask → SSM → activation → dropout → mixing → dropout → residual → norm
// (docs/maths.md §3.2).
func (n *Network) block(i int, b *Batch, x []float64) BlockTape {
	l := &n.Layers[i]
	t := BlockTape{In: x}
	u := x
	if n.PreNorm {
		u, t.NormTape = n.norm(l.Norm, b, x)
	}
	t.U = n.mask(b, u)
	t.Conv = t.U
	switch {
	case l.Other != nil:
		t.Conv = l.Other.apply(t.U, b.Len)
	case n.hasSSM(i):
		t.Kernels = n.kernels(l, b.Len)
		t.Conv = convolve(t.U, l.D, t.Kernels, b.Len)
	}
	t.Active = scaleRows(n.activate(t.Conv), b.Inner, i, b.Len)
	var y []float64
	t.Mixed, y = n.mix(l, b, t.Active, t.Conv)
	t.Sum = scaleRows(y, b.Outer, i, b.Len)
	if n.Residual {
		t.Sum = add(t.Sum, x)
	}
	t.Out = t.Sum
	if n.hasNorm() && !n.PreNorm {
		t.Out, t.NormTape = n.norm(l.Norm, b, t.Sum)
	}
	return t
}

func (n *Network) blockBack(g *Network, i int, tape *Tape, d []float64) []float64 {
	l, gl, t, b := &n.Layers[i], &g.Layers[i], &tape.Blocks[i], &tape.Batch
	if n.hasNorm() && !n.PreNorm {
		d = n.normBack(&gl.Norm, l.Norm, b, t.Sum, t.NormTape, d)
	}
	dy := scaleRows(d, b.Outer, i, b.Len)
	dActive, dConv := n.mixBack(gl, l, b, t, dy)
	dConv = add(dConv, n.activateBack(t.Conv, scaleRows(dActive, b.Inner, i, b.Len)))
	du := dConv
	switch {
	case l.Other != nil:
		gl.Other, du = l.Other.applyBack(t.U, dConv, b.Len)
	case n.hasSSM(i):
		var dk [][]float64
		du, gl.D, dk = convolveBack(dConv, t.U, l.D, t.Kernels, b.Len)
		for r := range dk {
			n.kernelBack(gl, l, r, dk[r])
		}
	}
	du = n.mask(b, du)
	if n.PreNorm {
		du = n.normBack(&gl.Norm, l.Norm, b, t.In, t.NormTape, du)
	}
	if n.Residual {
		return add(du, d)
	}
	return du
}

func (n *Network) hasSSM(i int) bool { return n.SSMLayers == 0 || i < n.SSMLayers }

func (n *Network) hasNorm() bool { return n.NormKind != "none" }
