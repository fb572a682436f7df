package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// blockSamples is the number of samples of a block, which are computed together. Blocks end at
// multiples of it, counted from the stream's first sample, and phases are corrected there. Neither
// depends on how calls cut the signal.
const blockSamples = ssm.CorrectionBlock

// workspace is the working memory of one call: activations as [channel][t] tiles of at most block
// columns.
type workspace struct {
	x, u, y    []float32   // [H][t]: the residual stream, a layer's input, its output
	mix        []float32   // [2H][t]
	mean, rstd []float32   // [t]
	gemm, ssm  []float32   // scratch
	in         []float32   // [d_input][t] normalised input, with Options.Normalize
	states     [][]float32 // of a layer, by stream
	positions  []int64     // of the streams
	column     []float32   // [d_output] logits of a position, with Options.Posterior
}

func (n *Network) newWorkspace() *workspace {
	cfg, h := &n.cfg, n.cfg.DModel
	scratch := 0
	for t := 1; t <= blockSamples; t++ {
		scratch = max(scratch, vek.GemmScratch(h, t, cfg.DInput), vek.GemmScratch(2*h, t, h), vek.GemmScratch(h, t, h),
			vek.GemmScratch(cfg.DOutput, t, h))
	}
	ws := &workspace{
		x: make([]float32, h*blockSamples), u: make([]float32, h*blockSamples), y: make([]float32, h*blockSamples),
		mix:  make([]float32, 2*h*blockSamples),
		mean: make([]float32, blockSamples), rstd: make([]float32, blockSamples),
		gemm: make([]float32, scratch), ssm: make([]float32, n.layers[0].recurrence.scratchLen()),
		states: make([][]float32, 0, blockSamples), positions: make([]int64, 0, blockSamples),
	}
	if n.scale != nil {
		ws.in = make([]float32, cfg.DInput*blockSamples)
	}
	if n.posterior {
		ws.column = make([]float32, cfg.DOutput)
	}
	return ws
}

// acquire takes an idle workspace, or makes one; release returns it.
func (n *Network) acquire() *workspace {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.idle) - 1; last >= 0 {
		ws := n.idle[last]
		n.idle = n.idle[:last]
		return ws
	}
	return n.newWorkspace()
}

func (n *Network) release(ws *workspace) {
	clear(ws.states[:cap(ws.states)]) // a dropped stream must not stay in memory
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = append(n.idle, ws)
}

// encode writes the encoder's output for columns [at, at+t) of x [d_input][n] to ws.x.
func (n *Network) encode(ws *workspace, x []float32, length, at, t int) {
	in := vek.MatrixOf(x, n.cfg.DInput, length).Columns(at, at+t)
	if n.scale != nil {
		normalised := vek.MatrixOf(ws.in, n.cfg.DInput, t)
		for c := range in.Rows {
			vek.ScaleShift(normalised.Row(c), in.Row(c), n.scale[c], n.shift[c])
		}
		in = normalised
	}
	n.encoder.apply(vek.MatrixOf(ws.x, n.cfg.DModel, t), in, ws.gemm)
}

// embed writes the embeddings of t tokens to ws.x.
func (n *Network) embed(ws *workspace, ids []int32) {
	h := n.cfg.DModel
	vek.Embed(vek.MatrixOf(ws.x, h, len(ids)), vek.MatrixOf(n.embedding, n.cfg.DInput, h), ids)
}

// forward runs all layers over ws.x in place, t columns of each stream in turn, and advances the
// streams' states.
func (n *Network) forward(ws *workspace, streams []*Stream, t int) {
	for i := range n.layers {
		n.runLayer(i, ws, streams, t)
	}
	n.normalise(&n.final, ws, len(streams)*t)
}

// runLayer computes one layer (docs/maths.md §3.2): x ← x + mix(act(ssm(norm(x)))) with a pre-norm,
// x ← norm(x + mix(act(ssm(x)))) without.
func (n *Network) runLayer(i int, ws *workspace, streams []*Stream, t int) {
	l, h, columns := &n.layers[i], n.cfg.DModel, len(streams)*t
	x, u, y := vek.MatrixOf(ws.x, h, columns), vek.MatrixOf(ws.u, h, columns), vek.MatrixOf(ws.y, h, columns)
	in := x
	if n.cfg.PreNorm && !l.norm.identity() {
		l.norm.apply(u, x, ws.mean, ws.rstd)
		in = u
	}
	if n.cfg.HasSSM(i) {
		ws.states, ws.positions = ws.states[:0], ws.positions[:0]
		for _, s := range streams {
			ws.states, ws.positions = append(ws.states, n.layerState(s, i)), append(ws.positions, s.position)
		}
		l.recurrence.run(y, in, ws.states, ws.positions, t, ws.ssm)
	} else {
		copy(y.Data, in.Data)
	}
	z := n.mix(&l.mixing, ws, y)
	if n.cfg.Residual {
		vek.Add(x.Data, x.Data, z.Data)
	} else {
		copy(x.Data, z.Data)
	}
	if !n.cfg.PreNorm {
		n.normalise(&l.norm, ws, columns)
	}
}

// output writes the decoder's output for x [H][t] to dst [d_output][t].
func (n *Network) output(dst, x vek.Matrix, ws *workspace) {
	n.decoder.apply(dst, x, ws.gemm)
	if !n.posterior {
		return
	}
	for t := range dst.Cols {
		for o := range ws.column {
			ws.column[o] = dst.Row(o)[t]
		}
		vek.Softmax(ws.column, ws.column)
		for o, p := range ws.column {
			dst.Row(o)[t] = p
		}
	}
}

// mix returns the output of activation and mixing layer for the SSM's output y [H][t], which it
// overwrites.
func (n *Network) mix(l *linear, ws *workspace, y vek.Matrix) vek.Matrix {
	g := y
	if n.cfg.Mixing == model.MixingHalfGLU2 {
		g = vek.MatrixOf(ws.mix[len(y.Data):], y.Rows, y.Cols) // y is needed after the activation
	}
	n.activate(g.Data, y.Data)
	if n.cfg.Mixing == model.MixingNone {
		return g
	}
	z := vek.MatrixOf(ws.mix, l.weight.Rows, y.Cols)
	l.apply(z, g, ws.gemm)
	if !n.cfg.Gated() {
		return z
	}
	factor, gate := y.Data, z.Data
	if n.cfg.Mixing == model.MixingGLU {
		factor, gate = z.Data[:len(y.Data)], z.Data[len(y.Data):]
	}
	vek.GLU(y.Data, factor, gate)
	return y
}

// activate sets g to the activation of y. g may be y.
func (n *Network) activate(g, y []float32) {
	switch n.cfg.Activation {
	case model.ActivationGELU:
		vek.GELU(g, y)
	case model.ActivationGELUTanh:
		vek.GELUTanh(g, y)
	default:
		copy(g, y)
	}
}

// normalise replaces ws.x by its norm.
func (n *Network) normalise(nm *norm, ws *workspace, t int) {
	if nm.identity() {
		return
	}
	nm.apply(vek.MatrixOf(ws.u, n.cfg.DModel, t), vek.MatrixOf(ws.x, n.cfg.DModel, t), ws.mean, ws.rstd)
	ws.x, ws.u = ws.u, ws.x
}
