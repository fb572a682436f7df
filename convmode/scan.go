package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

const (
	// scanChunk is the number of positions whose products with B̄ are computed at a time.
	scanChunk = 2 * ssm.CorrectionBlock

	// scanModes is the least number of modes in an item. Batches with few sequences are also
	// divided into modes, which are independent in a scan.
	scanModes = 16
)

// scanLayer is the sequenceLayer of S5 and the LRU: one SSM for all channels, a matrix product with
// B̄, a scan over time, and a matrix product with C (docs/maths.md §19.2).
type scanLayer struct {
	bk      *block
	scans   *scans
	params  *ssm.Params
	disc    *ssm.Scan
	weights *ssm.ScanWeights
	states  [][]float32 // [directions][MaxBatch][MaxLen+1][2P], see rows

	fill, scan, output                     func(w, item int)
	skipGrad, scanGrad, sumGrad, inputGrad func(w, item int)
}

// scans is what the scanLayers of a Net share.
type scans struct {
	modes      int // P
	directions int
	states     [][]float32 // of inference, in all layers; nil in training

	grad        *ssm.Params // gradients of the layer whose backward pass runs
	matrixGrad  *ssm.Scan   // those of λ̄ and B̄
	contributed []scanGrads // [groups·directions], see scanGrads
}

func (n *Net) newScans() *scans {
	s := &scans{modes: n.cfg.SSM.Modes(), directions: n.cfg.SSM.Directions()}
	if !n.opt.Training {
		s.states = n.newStates(s)
		return s
	}
	p := n.cfg.NewSSMParams()
	s.grad, s.matrixGrad = p, ssm.NewScan(p.Config)
	for range n.opt.scanGroups() * s.directions {
		size := 2 * s.modes * n.cfg.DModel
		s.contributed = append(s.contributed, scanGrads{vek.Aligned(size), vek.Aligned(size), make([]float64, 2*s.modes)})
	}
	return s
}

// newStates allocates the states of a layer. The row before the first or after the last is 0.
func (n *Net) newStates(s *scans) [][]float32 {
	list := make([][]float32, s.directions)
	for dir := range list {
		list[dir] = vek.Aligned(n.opt.MaxBatch * (n.opt.MaxLen + 1) * 2 * s.modes)
	}
	return list
}

func (bk *block) newScanLayer() *scanLayer {
	p := bk.net.cfg.NewSSMParams()
	l := &scanLayer{
		bk: bk, scans: bk.net.scans, params: p, disc: ssm.NewScan(p.Config), weights: ssm.NewScanWeights(p.Config), states: bk.net.scans.states,
	}
	if l.states == nil {
		l.states = bk.net.newStates(bk.net.scans)
	}
	l.fill, l.scan, l.output = l.fillMode, l.scanSequence, l.outputTile
	l.skipGrad, l.scanGrad, l.sumGrad = l.skipGradChannel, l.scanGradGroup, l.sumGradMode
	l.inputGrad = l.inputGradTile
	return l
}

func (l *scanLayer) forward() {
	bk, s := l.bk, l.scans
	if !bk.pass.computed {
		bk.weights.FillSSM(l.params)
		bk.net.pool.For(s.modes, l.fill)
	}
	bk.net.pool.For(bk.pass.size*s.directions*l.parts(bk.pass.size), l.scan)
	bk.net.pool.For(bk.pass.items(), l.output)
}

// fillMode discretises a mode.
func (l *scanLayer) fillMode(_, mode int) {
	l.params.DiscretizeScan(l.disc, l.bk.net.opt.StepScale, mode, mode+1)
	l.weights.Fill(l.params, l.disc, mode, mode+1)
}

// parts returns the number of items into which the modes of a scan are divided, for the given
// number of sequences or groups. The results are bit-identical for any number.
func (l *scanLayer) parts(count int) int {
	items := count * l.scans.directions
	wanted := (l.bk.net.opt.Workers + items - 1) / items
	return max(1, min(wanted, l.scans.modes/scanModes))
}

// item returns the sequence or group, the direction and the modes of an item.
func (l *scanLayer) item(item, count int) (i, dir, lo, hi int) {
	parts := l.parts(count)
	part, rest := item%parts, item/parts
	blocks := (l.scans.modes + scanModes - 1) / scanModes
	lo, hi = part*blocks/parts*scanModes, min((part+1)*blocks/parts*scanModes, l.scans.modes)
	return rest / l.scans.directions, rest % l.scans.directions, lo, hi
}

// steps returns the number of samples of a direction. The second direction starts at the true end.
func (l *scanLayer) steps(b, dir int) int {
	if dir == 0 {
		return l.bk.pass.length
	}
	return l.bk.pass.trueLen(b)
}

// scanOrder is the order of positions in which each direction runs.
var scanOrder = [2]vek.Direction{vek.FirstToLast, vek.LastToFirst}

// positions returns the positions of steps [from, to) of a direction.
func positions(dir, steps, from, to int) span {
	if dir == 0 {
		return span{from, to}
	}
	return span{steps - to, steps - from}
}

// rows returns the states at positions s. If past is true, it returns those one step earlier, which
// exist for the first step, too.
func (l *scanLayer) rows(b, dir int, s span, past bool) vek.Matrix {
	width, at := 2*l.scans.modes, b*(l.bk.net.opt.MaxLen+1)+s.lo
	if past != (dir == 0) { // the first direction's states are one row later
		at++
	}
	return vek.MatrixOf(l.states[dir][at*width:], s.hi-s.lo, width)
}

// eachPart calls f with the ranges of columns of modes [lo, hi): one range if these are all modes,
// otherwise one for the real and one for the imaginary parts.
func (l *scanLayer) eachPart(lo, hi int, f func(from, to int)) {
	if p := l.scans.modes; hi-lo == p {
		f(0, 2*p)
	} else {
		f(lo, hi)
		f(p+lo, p+hi)
	}
}

// scanSequence computes the states of one sequence, direction and range of modes.
func (l *scanLayer) scanSequence(w, item int) {
	bk, ws := l.bk, &l.bk.net.workers[w]
	b, dir, lo, hi := l.item(item, bk.pass.size)
	steps, state := l.steps(b, dir), ws.state
	before := l.rows(b, dir, positions(dir, steps, 0, 1), true)
	l.eachPart(lo, hi, func(from, to int) {
		clear(state[from:to])
		clear(before.Data[from:to])
	})
	for from := 0; from < steps; from += scanChunk {
		to := min(from+scanChunk, steps)
		s := positions(dir, steps, from, to)
		l.inputs(ws, b, s, l.rows(b, dir, s, false), lo, hi)
		for at := from; at < to; at += ssm.CorrectionBlock {
			end := min(at+ssm.CorrectionBlock, to)
			vek.Scan(l.rows(b, dir, positions(dir, steps, at, end), false), state, l.weights.Lambda, lo, hi, scanOrder[dir])
			l.correct(state, l.weights.Conjugate, lo, hi)
		}
	}
}

// correct sets state = state + conj(delta)·state for the modes [lo, hi).
func (l *scanLayer) correct(state, delta []float32, lo, hi int) {
	p := l.scans.modes
	re, im := state[lo:hi], state[p+lo:p+hi]
	vek.CMulConjAdd(re, im, delta[lo:hi], delta[p+lo:p+hi], re, im)
}

// inputs sets rows = (B̄·u)ᵀ at positions s for the modes [lo, hi), and 0 in padding.
func (l *scanLayer) inputs(ws *worker, b int, s span, rows vek.Matrix, lo, hi int) {
	bk := l.bk
	used := min(max(bk.pass.trueLen(b)-s.lo, 0), rows.Rows)
	u := bk.in.u.tile(b, span{s.lo, s.lo + used})
	l.eachPart(lo, hi, func(from, to int) {
		for t := used; t < rows.Rows; t++ {
			clear(rows.Row(t)[from:to])
		}
		if used > 0 {
			out := rows.Columns(from, to)
			out.Rows = used
			vek.Gemm(out, u, l.matrixB(from, to), vek.TransposeA|vek.TransposeB, ws.gemm)
		}
	})
}

// matrixB views rows [from, to) of the stacked B̄, and matrixC the stacked C of a direction.
func (l *scanLayer) matrixB(from, to int) vek.Matrix {
	h := l.bk.net.cfg.DModel
	return vek.MatrixOf(l.weights.B[from*h:], to-from, h)
}

func (l *scanLayer) matrixC(dir int) vek.Matrix {
	return vek.MatrixOf(l.weights.C[dir], l.bk.net.cfg.DModel, 2*l.scans.modes)
}

// outputTile computes v = κ·Re(C·h) + D·mask(u) of a tile. v may be u.
func (l *scanLayer) outputTile(w, item int) {
	bk, ws := l.bk, &l.bk.net.workers[w]
	b, s := bk.pass.tile(item)
	u, v := bk.in.u.tile(b, s), bk.v.tile(b, s)
	used := min(max(bk.pass.trueLen(b)-s.lo, 0), v.Cols)
	for h := range v.Rows {
		out := v.Row(h)
		vek.Scale(out[:used], l.weights.D[h], u.Row(h)[:used])
		clear(out[used:])
	}
	for dir := range l.scans.directions {
		columns := v.Cols
		if dir == 1 {
			columns = used // the state is 0 in padding
		}
		if columns > 0 {
			rows := l.rows(b, dir, span{s.lo, s.lo + columns}, false)
			vek.Gemm(v.Columns(0, columns), l.matrixC(dir), rows, vek.TransposeB|vek.Accumulate, ws.gemm)
		}
	}
}
