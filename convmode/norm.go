package convmode

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// norm is one LayerNorm or BatchNorm.
type norm struct {
	net  *Net
	pass *pass
	y, x array // its output and input
	dy   array // ∂y, which ∂x replaces; training only

	// residual is the gradient of the residual path beside a BatchNorm, to which ∂x is added; empty
	// without one.
	residual array

	gamma, beta     []float32 // [H]
	runMean, runVar []float32 // [H] BatchNorm
	dGamma, dBeta   []float32 // [H] the gradients, during Backward
	mean, rstd      []float32 // of the last training pass: LayerNorm [B][stride], BatchNorm [H]
	variance        []float64 // [H] of the last training pass: what BatchNorm adds to the running variance
	stride          int

	sums  []float64 // [2][H] of a BatchNorm, in the current stage
	loops struct{ forward, sum, squares, apply, backward, dots, grad func(worker, h int) }
}

func (n *Net) newNorm(y, x, dy array, gamma, beta, runMean, runVar []float32) *norm {
	nm := &norm{net: n, pass: &n.pass, y: y, x: x, dy: dy, gamma: gamma, beta: beta, runMean: runMean, runVar: runVar}
	size := n.cfg.DModel
	if n.batchNorm() {
		nm.variance, nm.sums = make([]float64, size), make([]float64, 2*size)
		l := &nm.loops
		l.forward, l.sum, l.squares, l.apply = nm.forwardChannel, nm.sumChannel, nm.squaresChannel, nm.applyChannel
		l.backward, l.dots, l.grad = nm.backwardChannel, nm.dotsChannel, nm.gradChannel
	} else {
		nm.stride = rowStride(n.opt.MaxLen)
		size = n.opt.MaxBatch * nm.stride
		if !n.opt.Training {
			return nm
		}
	}
	nm.mean, nm.rstd = vek.Aligned(size), vek.Aligned(size)
	return nm
}

func (n *Net) batchNorm() bool { return n.cfg.Norm == model.NormBatch }

// moments returns the arrays for mean and 1/std of a tile's positions in a LayerNorm.
func (nm *norm) moments(ws *worker, b int, s span) (mean, rstd []float32) {
	width := s.hi - s.lo
	if !nm.pass.train {
		return ws.moment[:width], ws.moment[width : 2*width]
	}
	at := b*nm.stride + s.lo
	return nm.mean[at : at+width], nm.rstd[at : at+width]
}

// layerNorm normalises a tile over its channels: y = (x − mean)·rstd·γ + β.
func (nm *norm) layerNorm(ws *worker, y, x vek.Matrix, b int, s span) {
	mean, rstd := nm.moments(ws, b, s)
	vek.LayerNorm(y, x, nm.gamma, nm.beta, mean, rstd, float32(nm.net.cfg.Eps()))
}

// layerNormGrad replaces ∂y of a tile by ∂x, and adds to the partial sums of ∂γ and ∂β.
func (nm *norm) layerNormGrad(ws *worker, dy, x vek.Matrix, dGamma, dBeta []float32, b int, s span) {
	mean, rstd := nm.moments(ws, b, s)
	vek.LayerNormGrad(dy, dy, x, nm.gamma, mean, rstd, dGamma, dBeta, ws.moment[2*x.Cols:][:2*x.Cols])
}

// batchForward normalises every channel over batch and length, including padding (docs/maths.md
// §3.3). In training it uses the statistics of the batch, otherwise the running ones. Of several
// shards, all channels take each stage together, with a sum over the shards after it.
func (nm *norm) batchForward() {
	h, shard := nm.net.cfg.DModel, nm.net.opt.Shard
	switch {
	case !nm.pass.train:
		nm.net.pool.For(h, nm.loops.apply)
	case shard.Count == 1:
		nm.net.pool.For(h, nm.loops.forward)
	default:
		nm.net.pool.For(h, nm.loops.sum)
		shard.Sum(nm.sums[:h])
		nm.net.pool.For(h, nm.loops.squares)
		shard.Sum(nm.sums[:h])
		nm.net.pool.For(h, nm.loops.apply)
	}
}

// forwardChannel is batchForward for one channel in training, while its rows are in the cache.
func (nm *norm) forwardChannel(w, h int) {
	nm.sumChannel(w, h)
	nm.squaresChannel(w, h)
	nm.applyChannel(w, h)
}

// sumChannel sets sums to the sum of channel h of x.
func (nm *norm) sumChannel(_, h int) {
	sum := 0.0
	for b := range nm.pass.size {
		sum += float64(vek.Sum(nm.pass.row(nm.x, b, h)))
	}
	nm.sums[h] = sum
}

// squaresChannel sets the mean of channel h from its sum, and sums to the sum of squared
// deviations.
func (nm *norm) squaresChannel(_, h int) {
	nm.mean[h] = float32(nm.sums[h] / nm.count())
	squares := 0.0
	for b := range nm.pass.size {
		squares += float64(vek.CentralSquares(nm.pass.row(nm.x, b, h), nm.mean[h]))
	}
	nm.sums[h] = squares
}

// applyChannel sets y of channel h, in training with the variance from the squared deviations.
func (nm *norm) applyChannel(_, h int) {
	mean, rstd := nm.runMean[h], float32(1/math.Sqrt(float64(nm.runVar[h])+nm.net.cfg.Eps()))
	if nm.pass.train {
		squares, count := nm.sums[h], nm.count()
		nm.variance[h] = squares / max(count-1, 1)
		if nm.net.cfg.NormBiased {
			nm.variance[h] = squares / count
		}
		nm.rstd[h] = float32(1 / math.Sqrt(squares/count+nm.net.cfg.Eps()))
		mean, rstd = nm.mean[h], nm.rstd[h]
	}
	scale := nm.gamma[h] * rstd
	shift := float32(float64(nm.beta[h]) - float64(scale)*float64(mean))
	for b := range nm.pass.size {
		vek.ScaleShift(nm.pass.row(nm.y, b, h), nm.pass.row(nm.x, b, h), scale, shift)
	}
}

// count is the number of values per channel that a BatchNorm normalises, in all shards.
func (nm *norm) count() float64 {
	return float64(nm.net.opt.Shard.Count * nm.pass.size * nm.pass.length)
}

// UpdateStatistics moves the running statistics of every BatchNorm, which are weights of the model,
// towards the statistics of the last ForwardTrain (docs/maths.md §3.3). Of the Nets of several
// shards, one does this.
func (n *Net) UpdateStatistics() {
	m := n.cfg.Momentum()
	for _, in := range n.inputs {
		for _, nm := range in.batchNorms {
			for h := range nm.runMean {
				nm.runMean[h] = float32((1-m)*float64(nm.runMean[h]) + m*float64(nm.mean[h]))
				nm.runVar[h] = float32((1-m)*float64(nm.runVar[h]) + m*nm.variance[h])
			}
		}
	}
}

// batchBackward replaces ∂y of every channel by ∂x, and adds to ∂γ and ∂β, of several shards the
// terms of this one. With c = x − mean and r = rstd:
//
//	∂β = Σ∂y,  ∂γ = r·Σ∂y·c,  ∂x = γr·(∂y − Σ∂y/n − c·r²·Σ(∂y·c)/n)
func (nm *norm) batchBackward() {
	h, shard := nm.net.cfg.DModel, nm.net.opt.Shard
	if shard.Count == 1 {
		nm.net.pool.For(h, nm.loops.backward)
		return
	}
	nm.net.pool.For(h, nm.loops.dots)
	shard.Sum(nm.sums)
	nm.net.pool.For(h, nm.loops.grad)
}

// backwardChannel is batchBackward for one channel.
func (nm *norm) backwardChannel(w, h int) {
	nm.dotsChannel(w, h)
	nm.gradChannel(w, h)
}

// dotsChannel sets sums to Σ∂y and Σ∂y·c of channel h, and adds to ∂γ and ∂β.
func (nm *norm) dotsChannel(_, h int) {
	sum, dot := 0.0, 0.0
	for b := range nm.pass.size {
		d := nm.pass.row(nm.dy, b, h)
		sum += float64(vek.Sum(d))
		dot += float64(vek.CentralDot(d, nm.pass.row(nm.x, b, h), nm.mean[h]))
	}
	nm.dGamma[h] += float32(float64(nm.rstd[h]) * dot)
	nm.dBeta[h] += float32(sum)
	nm.sums[h], nm.sums[nm.net.cfg.DModel+h] = sum, dot
}

// gradChannel replaces ∂y of channel h by ∂x, and adds it to that of the residual path.
func (nm *norm) gradChannel(_, h int) {
	sum, dot := nm.sums[h], nm.sums[nm.net.cfg.DModel+h]
	mean, r, count := nm.mean[h], float64(nm.rstd[h]), nm.count()
	scale := float64(nm.gamma[h]) * r
	slope := float32(-scale * r * r * dot / count)
	shift := -scale*sum/count - float64(slope)*float64(mean)
	for b := range nm.pass.size {
		d := nm.pass.row(nm.dy, b, h)
		vek.AffineGrad(d, d, nm.pass.row(nm.x, b, h), float32(scale), slope, float32(shift))
		if nm.residual.data != nil {
			g := nm.pass.row(nm.residual, b, h)
			vek.Add(g, g, d)
		}
	}
}
