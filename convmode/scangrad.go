package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// maxScanGroups bounds the number of groups of sequences. The gradients of each group are summed
// separately. The groups depend on the size of the batch alone, so the bits do not depend on the
// number of workers.
const maxScanGroups = 16

// scanGroups returns the largest number of groups.
func (o Options) scanGroups() int { return min(o.MaxBatch, maxScanGroups) }

// scanGrads are the sums of one group of sequences and direction.
type scanGrads struct {
	b, c   []float32 // [2P][H] Σ s·uᵀ and [H][2P] Σ g·hᵀ, real and imaginary parts stacked
	lambda []float64 // [2P] ∂λ̄
}

func (l *scanLayer) groups() int { return min(l.bk.pass.size, maxScanGroups) }

// backward computes the gradients of docs/maths.md §19.3.
func (l *scanLayer) backward() {
	bk, s := l.bk, l.scans
	bk.net.pool.For(bk.net.cfg.DModel, l.skipGrad)
	bk.net.pool.For(l.groups()*s.directions*l.parts(l.groups()), l.scanGrad)
	bk.net.pool.For(s.modes, l.sumGrad)
	bk.grads.AddSSM(s.grad)
	bk.net.pool.For(bk.pass.items(), l.inputGrad)
	bk.net.pool.For(bk.net.cfg.DModel, bk.loops.inputGrad)
}

// skipGradChannel adds ∂D of a channel.
func (l *scanLayer) skipGradChannel(_, h int) {
	bk, sum := l.bk, float32(0)
	for b := range bk.pass.size {
		used := bk.pass.trueLen(b)
		sum += vek.Dot(bk.pass.row(bk.v, b, h)[:used], bk.pass.row(bk.in.u, b, h)[:used])
	}
	bk.grads.D[h] += sum
}

// scanGradGroup runs the backward pass of the scans of a group of sequences, one direction and a
// range of modes. It replaces the states by their gradients s.
func (l *scanLayer) scanGradGroup(w, item int) {
	bk, ws := l.bk, &l.bk.net.workers[w]
	group, dir, lo, hi := l.item(item, l.groups())
	sums := &l.scans.contributed[group*l.scans.directions+dir]
	width, h := 2*l.scans.modes, bk.net.cfg.DModel
	b, c := vek.MatrixOf(sums.b, width, h), vek.MatrixOf(sums.c, h, width)
	l.eachPart(lo, hi, func(from, to int) {
		clear(sums.b[from*h : to*h])
		clear(sums.lambda[from:to])
		for i := range h {
			clear(c.Row(i)[from:to])
		}
	})
	for i := group * bk.pass.size / l.groups(); i < (group+1)*bk.pass.size/l.groups(); i++ {
		l.scanGradSequence(ws, sums, b, c, i, dir, lo, hi)
	}
}

// scanGradSequence adds the gradients of a sequence, from the last chunk of steps to the first.
func (l *scanLayer) scanGradSequence(ws *worker, sums *scanGrads, dB, dC vek.Matrix, b, dir, lo, hi int) {
	bk := l.bk
	steps, state := l.steps(b, dir), ws.state
	l.eachPart(lo, hi, func(from, to int) { clear(state[from:to]) })
	for from := (steps - 1) / scanChunk * scanChunk; from >= 0; from -= scanChunk {
		to := min(from+scanChunk, steps)
		s := positions(dir, steps, from, to)
		rows, grads := l.rows(b, dir, s, false), vek.MatrixOf(ws.states, to-from, 2*l.scans.modes)
		g := bk.v.tile(b, s)
		l.eachPart(lo, hi, func(c0, c1 int) {
			vek.Gemm(dC.Columns(c0, c1), g, rows.Columns(c0, c1), vek.Accumulate, ws.gemm)
			vek.Gemm(grads.Columns(c0, c1), g, l.matrixC(dir).Columns(c0, c1), vek.TransposeA, ws.gemm)
			clear(ws.pole[c0:c1])
		})
		for at := (to - 1) / ssm.CorrectionBlock * ssm.CorrectionBlock; at >= from; at -= ssm.CorrectionBlock {
			block := positions(dir, steps, at, min(at+ssm.CorrectionBlock, to))
			part := vek.MatrixOf(grads.Data[(block.lo-s.lo)*grads.Cols:], block.hi-block.lo, grads.Cols)
			vek.ScanGrad(part, l.rows(b, dir, block, true), state, l.weights.Lambda, ws.pole, lo, hi, scanOrder[1-dir])
			l.correct(state, l.weights.Correction, lo, hi)
		}
		used := min(max(bk.pass.trueLen(b)-s.lo, 0), grads.Rows)
		u := bk.in.u.tile(b, span{s.lo, s.lo + used})
		l.eachPart(lo, hi, func(c0, c1 int) {
			if used > 0 {
				of := grads.Columns(c0, c1)
				of.Rows = used
				vek.Gemm(vek.MatrixOf(dB.Data[c0*dB.Cols:], c1-c0, dB.Cols), of, u, vek.TransposeA|vek.TransposeB|vek.Accumulate, ws.gemm)
			}
			for i, v := range ws.pole[c0:c1] {
				sums.lambda[c0+i] += float64(v)
			}
			for t := range rows.Rows {
				copy(rows.Row(t)[c0:c1], grads.Row(t)[c0:c1])
			}
		})
	}
}

// sumGradMode sums the gradients of a mode over the groups, and computes those of its parameters.
func (l *scanLayer) sumGradMode(_, mode int) {
	s, h, modes := l.scans, l.bk.net.cfg.DModel, l.scans.modes
	var lambda complex128
	dB := s.matrixGrad.BBar[mode*h : (mode+1)*h]
	clear(dB)
	for dir := range s.directions {
		for c := range h {
			s.grad.C[(dir*h+c)*modes+mode] = 0
		}
	}
	for i := range l.groups() * s.directions {
		g, dir := &s.contributed[i], i%s.directions
		lambda += complex(g.lambda[mode], g.lambda[modes+mode])
		for c := range h {
			dB[c] += complex(float64(g.b[mode*h+c]), float64(g.b[(modes+mode)*h+c]))
			row := g.c[2*modes*c:]
			s.grad.C[(dir*h+c)*modes+mode] += complex(l.disc.Factor*float64(row[mode]), -l.disc.Factor*float64(row[modes+mode]))
		}
	}
	s.matrixGrad.Lambda[mode] = lambda
	l.params.BackwardScan(s.grad, s.matrixGrad, mode, mode+1)
}

// inputGradTile computes ∂u = Re(B̄*·s) + D·g of a tile, in v.
func (l *scanLayer) inputGradTile(w, item int) {
	bk, ws := l.bk, &l.bk.net.workers[w]
	b, s := bk.pass.tile(item)
	s.hi = min(s.hi, bk.pass.trueLen(b))
	if s.lo >= s.hi {
		return
	}
	v := bk.v.tile(b, s)
	for h := range v.Rows {
		vek.Scale(v.Row(h), l.weights.D[h], v.Row(h))
	}
	for dir := range l.scans.directions {
		vek.Gemm(v, l.matrixB(0, 2*l.scans.modes), l.rows(b, dir, s, false), vek.TransposeA|vek.TransposeB|vek.Accumulate, ws.gemm)
	}
}

// scanScratch is the scratch length of the largest matrix product of a scan.
func (n *Net) scanScratch(width int) int {
	if !n.cfg.SSM.MIMO() {
		return 0
	}
	h, p := n.cfg.DModel, 2*n.cfg.SSM.Modes()
	return max(
		vek.GemmScratch(scanChunk, p, h), vek.GemmScratch(h, width, p),
		vek.GemmScratch(h, p, scanChunk), vek.GemmScratch(p, h, scanChunk),
	)
}

// scanFloats estimates the floats that scans take.
func (o Options) scanFloats(c model.Config) float64 {
	if !c.SSM.MIMO() {
		return 0
	}
	directions, width := float64(c.SSM.Directions()), float64(2*c.SSM.Modes())
	states, matrices := 1.0, 0.0
	if o.Training {
		states = float64(c.CountSSM())
		matrices = 2 * float64(o.scanGroups()) * directions
	}
	return states*directions*float64(o.MaxBatch)*float64(o.MaxLen+1)*width + matrices*width*float64(c.DModel)
}
