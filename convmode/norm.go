package convmode

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// norm is one LayerNorm or BatchNorm.
type norm struct {
	*pass
	y, x array // its output and input
	dy   array // ∂y, which ∂x replaces; training only

	gamma, beta     []float32 // [H]
	runMean, runVar []float32 // [H] BatchNorm
	dGamma, dBeta   []float32 // [H] the gradients, during Backward
	mean, rstd      []float32 // of the last training pass: LayerNorm [B][stride], BatchNorm [H]
	variance        []float64 // [H] of the last training pass: what BatchNorm adds to the running variance
	stride          int

	sums  []float64 // [2][H] of a BatchNorm over several shards
	loops struct{ sum, squares, apply, dots, grad func(worker, h int) }
}

func (p *pass) newNorm(y, x, dy array, gamma, beta, runMean, runVar []float32) *norm {
	nm := &norm{pass: p, y: y, x: x, dy: dy, gamma: gamma, beta: beta, runMean: runMean, runVar: runVar}
	size := p.cfg.DModel
	if p.batchNorm() {
		nm.variance, nm.sums = make([]float64, size), make([]float64, 2*size)
		l := &nm.loops
		l.sum, l.squares, l.apply = nm.sumChannel, nm.squaresChannel, nm.applyChannel
		l.dots, l.grad = nm.dotsChannel, nm.gradChannel
	} else {
		nm.stride = rowStride(p.opt.MaxLen)
		size = p.opt.MaxBatch * nm.stride
		if !p.opt.Training {
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
	if !nm.train {
		return ws.moment[:width], ws.moment[width : 2*width]
	}
	at := b*nm.stride + s.lo
	return nm.mean[at : at+width], nm.rstd[at : at+width]
}

// layerNorm normalises a tile over its channels: y = (x − mean)·rstd·γ + β.
func (nm *norm) layerNorm(ws *worker, y, x vek.Matrix, b int, s span) {
	mean, rstd := nm.moments(ws, b, s)
	vek.LayerNorm(y, x, nm.gamma, nm.beta, mean, rstd, float32(nm.cfg.Eps()))
}

// layerNormGrad replaces ∂y of a tile by ∂x, and adds to the partial sums of ∂γ and ∂β.
func (nm *norm) layerNormGrad(ws *worker, dy, x vek.Matrix, dGamma, dBeta []float32, b int, s span) {
	mean, rstd := nm.moments(ws, b, s)
	vek.LayerNormGrad(dy, dy, x, nm.gamma, mean, rstd, dGamma, dBeta, ws.moment[2*x.Cols:][:2*x.Cols])
}

// batchForward normalises channel h over batch and length, including padding (docs/maths.md
// §3.3). In training it uses the statistics of the batch, otherwise the running ones.
func (nm *norm) batchForward(h int) {
	mean, rstd := nm.runMean[h], float32(1/math.Sqrt(float64(nm.runVar[h])+nm.cfg.Eps()))
	if nm.train {
		mean = float32(nm.channelSum(h) / nm.count())
		nm.mean[h] = mean
		nm.setVariance(h, nm.channelSquares(h))
		rstd = nm.rstd[h]
	}
	nm.apply(h, mean, rstd)
}

// apply sets y of channel h.
func (nm *norm) apply(h int, mean, rstd float32) {
	scale := nm.gamma[h] * rstd
	shift := float32(float64(nm.beta[h]) - float64(scale)*float64(mean))
	for b := range nm.size {
		vek.ScaleShift(nm.row(nm.y, b, h), nm.row(nm.x, b, h), scale, shift)
	}
}

// channelSum returns the sum of channel h of x.
func (nm *norm) channelSum(h int) (sum float64) {
	for b := range nm.size {
		sum += float64(vek.Sum(nm.row(nm.x, b, h)))
	}
	return sum
}

// channelSquares returns the sum of squared deviations of channel h of x from its mean.
func (nm *norm) channelSquares(h int) (squares float64) {
	for b := range nm.size {
		squares += float64(vek.CentralSquares(nm.row(nm.x, b, h), nm.mean[h]))
	}
	return squares
}

// count is the number of values per channel that a BatchNorm normalises, in all shards.
func (nm *norm) count() float64 { return float64(max(1, nm.shard.Count) * nm.size * nm.length) }

// setVariance sets 1/std and the variance of channel h from its sum of squared deviations.
func (nm *norm) setVariance(h int, squares float64) {
	count := nm.count()
	nm.variance[h] = squares / max(count-1, 1)
	if nm.cfg.NormBiased {
		nm.variance[h] = squares / count
	}
	nm.rstd[h] = float32(1 / math.Sqrt(squares/count+nm.cfg.Eps()))
}

// UpdateStatistics moves the running statistics of every BatchNorm, which are weights of the model,
// towards the statistics of the last ForwardTrain (docs/maths.md §3.3). Of the Nets of several
// shards, one does this.
func (n *Net) UpdateStatistics() {
	if !n.batchNorm() {
		return
	}
	m := n.cfg.Momentum()
	for i, in := range n.pass.inputs {
		in.norm.updateStatistics(m)
		if i > 0 {
			in.from.norm.updateStatistics(m)
		}
	}
}

// updateStatistics is UpdateStatistics for one norm, which may be nil, with the momentum m.
func (nm *norm) updateStatistics(m float64) {
	if nm == nil {
		return
	}
	for h := range nm.runMean {
		nm.runMean[h] = float32((1-m)*float64(nm.runMean[h]) + m*float64(nm.mean[h]))
		nm.runVar[h] = float32((1-m)*float64(nm.runVar[h]) + m*nm.variance[h])
	}
}

// batchBackward replaces ∂y of channel h by ∂x, and adds to ∂γ and ∂β. With c = x − mean and r =
// rstd:
//
//	∂β = Σ∂y,  ∂γ = r·Σ∂y·c,  ∂x = γr·(∂y − Σ∂y/n − c·r²·Σ(∂y·c)/n)
func (nm *norm) batchBackward(h int) {
	sum, dot := nm.channelDots(h)
	nm.applyGrad(h, sum, dot)
}

// channelDots returns Σ∂y and Σ∂y·c of channel h, and adds to ∂γ and ∂β.
func (nm *norm) channelDots(h int) (sum, dot float64) {
	for b := range nm.size {
		d := nm.row(nm.dy, b, h)
		sum += float64(vek.Sum(d))
		dot += float64(vek.CentralDot(d, nm.row(nm.x, b, h), nm.mean[h]))
	}
	nm.dGamma[h] += float32(float64(nm.rstd[h]) * dot)
	nm.dBeta[h] += float32(sum)
	return sum, dot
}

// applyGrad replaces ∂y of channel h by ∂x.
func (nm *norm) applyGrad(h int, sum, dot float64) {
	mean, r, count := nm.mean[h], float64(nm.rstd[h]), nm.count()
	scale := float64(nm.gamma[h]) * r
	slope := float32(-scale * r * r * dot / count)
	shift := -scale*sum/count - float64(slope)*float64(mean)
	for b := range nm.size {
		d := nm.row(nm.dy, b, h)
		vek.AffineGrad(d, d, nm.row(nm.x, b, h), float32(scale), slope, float32(shift))
	}
}
