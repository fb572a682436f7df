package convmode

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// norm is one LayerNorm or BatchNorm.
type norm struct {
	gamma, beta     []float32 // [H]
	runMean, runVar []float32 // [H] BatchNorm
	dGamma, dBeta   []float32 // [H] the gradients, during Backward
	mean, rstd      []float32 // of the last training pass: LayerNorm [B][stride], BatchNorm [H]
	variance        []float64 // [H] of the last training pass: what BatchNorm adds to the running variance
	stride          int
}

// newNorms creates the norms: before or after each block and, if configured, before the pool.
func (n *Net) newNorms() {
	layers := n.cfg.NLayers
	n.entry, n.exit = make([]*norm, layers+1), make([]*norm, layers)
	if n.cfg.Norm == model.NormNone {
		return
	}
	for i := range n.w.Layers {
		l := &n.w.Layers[i]
		nm := n.newNorm(l.NormWeight, l.NormBias, l.RunningMean, l.RunningVar)
		if n.cfg.PreNorm {
			n.entry[i] = nm
		} else {
			n.exit[i] = nm
		}
	}
	if n.cfg.FinalNorm {
		n.entry[layers] = n.newNorm(n.w.NormWeight, n.w.NormBias, n.w.RunningMean, n.w.RunningVar)
	}
}

func (n *Net) newNorm(gamma, beta, runMean, runVar []float32) *norm {
	nm := &norm{gamma: gamma, beta: beta, runMean: runMean, runVar: runVar}
	size := n.cfg.DModel
	if !n.batchNorm() {
		nm.stride = rowStride(n.opt.MaxLen)
		size = n.opt.MaxBatch * nm.stride
		if !n.opt.Training {
			return nm
		}
	}
	nm.mean, nm.rstd = vek.Aligned(size), vek.Aligned(size)
	if n.batchNorm() {
		nm.variance = make([]float64, size)
	}
	return nm
}

func (n *Net) batchNorm() bool { return n.cfg.Norm == model.NormBatch }

// moments returns the arrays for mean and 1/std of a tile's positions in a LayerNorm.
func (n *Net) moments(ws *worker, nm *norm, b int, s span) (mean, rstd []float32) {
	width := s.hi - s.lo
	if !n.train {
		return ws.moment[:width], ws.moment[width : 2*width]
	}
	at := b*nm.stride + s.lo
	return nm.mean[at : at+width], nm.rstd[at : at+width]
}

// layerNorm normalises a tile over its channels: y = (x − mean)·rstd·γ + β.
func (n *Net) layerNorm(ws *worker, nm *norm, y, x vek.Matrix, b int, s span) {
	mean, rstd := n.moments(ws, nm, b, s)
	vek.LayerNorm(y, x, nm.gamma, nm.beta, mean, rstd, float32(n.cfg.Eps()))
}

// layerNormGrad replaces ∂y of a tile by ∂x, and adds to the partial sums of ∂γ and ∂β.
func (n *Net) layerNormGrad(ws *worker, nm *norm, dy, x vek.Matrix, dGamma, dBeta []float32, b int, s span) {
	mean, rstd := n.moments(ws, nm, b, s)
	vek.LayerNormGrad(dy, dy, x, nm.gamma, mean, rstd, dGamma, dBeta, ws.moment[2*x.Cols:][:2*x.Cols])
}

// layerNormBefore applies the LayerNorm between x_i and its reader, if there is one, to a tile.
func (n *Net) layerNormBefore(ws *worker, i, b int, s span) {
	if nm := n.entry[i]; nm != nil && !n.batchNorm() {
		n.layerNorm(ws, nm, n.acts.u[i].tile(b, s), n.acts.x[i].tile(b, s), b, s)
	}
}

// layerNormBeforeGrad is the backward pass of layerNormBefore. ∂u_i of a block is in v_i, and is
// added to ∂x_i of the residual path. ∂u of the pool is in grad itself.
func (n *Net) layerNormBeforeGrad(ws *worker, part *partial, i, b int, s span) {
	nm := n.entry[i]
	if nm == nil || n.batchNorm() {
		return
	}
	grad := n.grad.tile(b, s)
	dy := grad
	if i < len(n.layers) {
		dy = n.acts.v[i].tile(b, s)
	}
	n.layerNormGrad(ws, nm, dy, n.acts.x[i].tile(b, s), part.entryGamma, part.entryBeta, b, s)
	if i < len(n.layers) {
		for h := range grad.Rows {
			vek.Add(grad.Row(h), grad.Row(h), dy.Row(h))
		}
	}
}

// batchNormBefore applies the BatchNorms between block i−1 and the reader of x_i to channel h: the
// exit norm of the block before, s_{i−1} → x_i, or the entry norm, x_i → u_i. Norms over several
// shards are applied by sharedBefore.
func (n *Net) batchNormBefore(i, h int) {
	if !n.batchNorm() || n.sharedNorms() {
		return
	}
	if i > 0 && n.exit[i-1] != nil {
		n.batchNormForward(n.exit[i-1], n.acts.x[i], n.acts.s[i-1], h)
	}
	if n.entry[i] != nil {
		n.batchNormForward(n.entry[i], n.acts.u[i], n.acts.x[i], h)
	}
}

// closeNormChannel is batchNormBefore for the pool.
func (n *Net) closeNormChannel(_, h int) { n.batchNormBefore(len(n.layers), h) }

// batchNormForward normalises channel h over batch and length, including padding (docs/maths.md
// §3.3). In training it uses the statistics of the batch, otherwise the running ones.
func (n *Net) batchNormForward(nm *norm, dst, src array, h int) {
	mean, rstd := nm.runMean[h], float32(1/math.Sqrt(float64(nm.runVar[h])+n.cfg.Eps()))
	if n.train {
		mean = float32(n.channelSum(src, h) / n.normCount())
		nm.mean[h] = mean
		n.setVariance(nm, h, n.channelSquares(src, h, mean))
		rstd = nm.rstd[h]
	}
	n.applyBatchNorm(nm, dst, src, h, mean, rstd)
}

func (n *Net) applyBatchNorm(nm *norm, dst, src array, h int, mean, rstd float32) {
	scale := nm.gamma[h] * rstd
	shift := float32(float64(nm.beta[h]) - float64(scale)*float64(mean))
	for b := range n.size {
		vek.ScaleShift(n.row(dst, b, h), n.row(src, b, h), scale, shift)
	}
}

// channelSum returns the sum of channel h.
func (n *Net) channelSum(x array, h int) (sum float64) {
	for b := range n.size {
		sum += float64(vek.Sum(n.row(x, b, h)))
	}
	return sum
}

// channelSquares returns the sum of squared deviations of channel h from mean.
func (n *Net) channelSquares(x array, h int, mean float32) (squares float64) {
	for b := range n.size {
		squares += float64(vek.CentralSquares(n.row(x, b, h), mean))
	}
	return squares
}

// normCount is the number of values per channel that a BatchNorm normalises, in all shards.
func (n *Net) normCount() float64 { return float64(max(1, n.shard.Count) * n.size * n.length) }

// setVariance sets 1/std and the variance of channel h from its sum of squared deviations.
func (n *Net) setVariance(nm *norm, h int, squares float64) {
	count := n.normCount()
	nm.variance[h] = squares / max(count-1, 1)
	if n.cfg.NormBiased {
		nm.variance[h] = squares / count
	}
	nm.rstd[h] = float32(1 / math.Sqrt(squares/count+n.cfg.Eps()))
}

// UpdateStatistics moves the running statistics of every BatchNorm, which are weights of the model,
// towards the statistics of the last ForwardTrain (docs/maths.md §3.3). Of the Nets of several
// shards, one does this.
func (n *Net) UpdateStatistics() {
	if !n.batchNorm() {
		return
	}
	m := n.cfg.Momentum()
	for _, list := range [][]*norm{n.entry, n.exit} {
		for _, nm := range list {
			if nm == nil {
				continue
			}
			for h := range nm.runMean {
				nm.runMean[h] = float32((1-m)*float64(nm.runMean[h]) + m*float64(nm.mean[h]))
				nm.runVar[h] = float32((1-m)*float64(nm.runVar[h]) + m*nm.variance[h])
			}
		}
	}
}

// batchNormGrad replaces ∂y of channel h by ∂x, and adds to ∂γ and ∂β. With c = x − mean and r =
// rstd:
//
//	∂β = Σ∂y,  ∂γ = r·Σ∂y·c,  ∂x = γr·(∂y − Σ∂y/n − c·r²·Σ(∂y·c)/n)
func (n *Net) batchNormGrad(nm *norm, dy, x array, h int) {
	sum, dot := n.normDots(nm, dy, x, h)
	n.applyBatchNormGrad(nm, dy, x, h, sum, dot)
}

// normDots returns Σ∂y and Σ∂y·c of channel h, and adds to ∂γ and ∂β.
func (n *Net) normDots(nm *norm, dy, x array, h int) (sum, dot float64) {
	for b := range n.size {
		d := n.row(dy, b, h)
		sum += float64(vek.Sum(d))
		dot += float64(vek.CentralDot(d, n.row(x, b, h), nm.mean[h]))
	}
	nm.dGamma[h] += float32(float64(nm.rstd[h]) * dot)
	nm.dBeta[h] += float32(sum)
	return sum, dot
}

// applyBatchNormGrad replaces ∂y of channel h by ∂x.
func (n *Net) applyBatchNormGrad(nm *norm, dy, x array, h int, sum, dot float64) {
	mean, r, count := nm.mean[h], float64(nm.rstd[h]), n.normCount()
	scale := float64(nm.gamma[h]) * r
	slope := float32(-scale * r * r * dot / count)
	shift := -scale*sum/count - float64(slope)*float64(mean)
	for b := range n.size {
		d := n.row(dy, b, h)
		vek.AffineGrad(d, d, n.row(x, b, h), float32(scale), slope, float32(shift))
	}
}

// exitBatchNormGrad is the backward pass of the BatchNorm at the end of block i, if there is one,
// on channel h of grad.
func (n *Net) exitBatchNormGrad(i, h int) {
	if n.batchNorm() && n.exit[i] != nil {
		n.batchNormGrad(n.exit[i], n.grad, n.acts.s[i], h)
	}
}

// topNormGradChannel is the backward pass of the BatchNorms before the pool on channel h of grad.
func (n *Net) topNormGradChannel(_, h int) {
	last := len(n.layers)
	if n.entry[last] != nil {
		n.batchNormGrad(n.entry[last], n.grad, n.acts.x[last], h)
	}
	n.exitBatchNormGrad(last-1, h)
}
