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

	sums  []float64 // [2][H] of a BatchNorm, in the current stage
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
// §3.3). In training it uses the statistics of the batch, otherwise the running ones. Its stages
// are methods, because over several shards all channels take each of them together (sharedNorms).
func (nm *norm) batchForward(h int) {
	if nm.train {
		nm.sumChannel(0, h)
		nm.squaresChannel(0, h)
	}
	nm.applyChannel(0, h)
}

// sumChannel sets sums to the sum of channel h of x.
func (nm *norm) sumChannel(_, h int) {
	sum := 0.0
	for b := range nm.size {
		sum += float64(vek.Sum(nm.row(nm.x, b, h)))
	}
	nm.sums[h] = sum
}

// squaresChannel sets the mean of channel h from its sum, and sums to the sum of squared
// deviations.
func (nm *norm) squaresChannel(_, h int) {
	nm.mean[h] = float32(nm.sums[h] / nm.count())
	squares := 0.0
	for b := range nm.size {
		squares += float64(vek.CentralSquares(nm.row(nm.x, b, h), nm.mean[h]))
	}
	nm.sums[h] = squares
}

// applyChannel sets y of channel h, in training with the variance from the squared deviations.
func (nm *norm) applyChannel(_, h int) {
	mean, rstd := nm.runMean[h], float32(1/math.Sqrt(float64(nm.runVar[h])+nm.cfg.Eps()))
	if nm.train {
		squares, count := nm.sums[h], nm.count()
		nm.variance[h] = squares / max(count-1, 1)
		if nm.cfg.NormBiased {
			nm.variance[h] = squares / count
		}
		nm.rstd[h] = float32(1 / math.Sqrt(squares/count+nm.cfg.Eps()))
		mean, rstd = nm.mean[h], nm.rstd[h]
	}
	scale := nm.gamma[h] * rstd
	shift := float32(float64(nm.beta[h]) - float64(scale)*float64(mean))
	for b := range nm.size {
		vek.ScaleShift(nm.row(nm.y, b, h), nm.row(nm.x, b, h), scale, shift)
	}
}

// count is the number of values per channel that a BatchNorm normalises, in all shards.
func (nm *norm) count() float64 { return float64(nm.opt.Shard.Count * nm.size * nm.length) }

// UpdateStatistics moves the running statistics of every BatchNorm, which are weights of the model,
// towards the statistics of the last ForwardTrain (docs/maths.md §3.3). Of the Nets of several
// shards, one does this.
func (n *Net) UpdateStatistics() {
	m := n.cfg.Momentum()
	for _, in := range n.pass.inputs {
		for _, nm := range in.batchNorms {
			for h := range nm.runMean {
				nm.runMean[h] = float32((1-m)*float64(nm.runMean[h]) + m*float64(nm.mean[h]))
				nm.runVar[h] = float32((1-m)*float64(nm.runVar[h]) + m*nm.variance[h])
			}
		}
	}
}

// batchBackward replaces ∂y of channel h by ∂x, and adds to ∂γ and ∂β. With c = x − mean and r =
// rstd:
//
//	∂β = Σ∂y,  ∂γ = r·Σ∂y·c,  ∂x = γr·(∂y − Σ∂y/n − c·r²·Σ(∂y·c)/n)
func (nm *norm) batchBackward(h int) {
	nm.dotsChannel(0, h)
	nm.gradChannel(0, h)
}

// dotsChannel sets sums to Σ∂y and Σ∂y·c of channel h, and adds to ∂γ and ∂β.
func (nm *norm) dotsChannel(_, h int) {
	sum, dot := 0.0, 0.0
	for b := range nm.size {
		d := nm.row(nm.dy, b, h)
		sum += float64(vek.Sum(d))
		dot += float64(vek.CentralDot(d, nm.row(nm.x, b, h), nm.mean[h]))
	}
	nm.dGamma[h] += float32(float64(nm.rstd[h]) * dot)
	nm.dBeta[h] += float32(sum)
	nm.sums[h], nm.sums[nm.cfg.DModel+h] = sum, dot
}

// gradChannel replaces ∂y of channel h by ∂x.
func (nm *norm) gradChannel(_, h int) {
	sum, dot := nm.sums[h], nm.sums[nm.cfg.DModel+h]
	mean, r, count := nm.mean[h], float64(nm.rstd[h]), nm.count()
	scale := float64(nm.gamma[h]) * r
	slope := float32(-scale * r * r * dot / count)
	shift := -scale*sum/count - float64(slope)*float64(mean)
	for b := range nm.size {
		d := nm.row(nm.dy, b, h)
		vek.AffineGrad(d, d, nm.row(nm.x, b, h), float32(scale), slope, float32(shift))
	}
}
