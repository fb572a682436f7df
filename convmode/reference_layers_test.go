package convmode

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
)

// encode: x = W·input + b at every position, or the row of W for the token.
func (n *reference) encode(b *referenceBatch) []float64 {
	w := n.at(n.weights.EncoderWeight)
	if n.Encoder == model.EncoderLinear {
		return linear(w, n.at(n.weights.EncoderBias), b.X, b.Len)
	}
	return each(make([]float64, b.Size*n.DModel*b.Len), func(k int, _ float64) float64 {
		i, h, t := k/(n.DModel*b.Len), k/b.Len%n.DModel, k%b.Len
		return w[int(b.Tokens[i*b.Len+t])*n.DModel+h]
	})
}

// linear: W·x + bias at every position, of x [·][columns][length] and W [rows][columns].
func linear(w, bias, x []float64, length int) (y []float64) {
	columns := len(w) / len(bias)
	for from := 0; from < len(x); from += columns * length {
		for r, sum := range bias {
			for t := range length {
				v := sum
				for c := range columns {
					v += w[r*columns+c] * x[from+c*length+t]
				}
				y = append(y, v)
			}
		}
	}
	return y
}

// pool: the mean over the true length, plus the maximum or not, or the last true position, of every
// channel: [B][H].
func (n *reference) pool(b *referenceBatch, x []float64) []float64 {
	return each(make([]float64, b.Size*n.DModel), func(k int, sum float64) float64 {
		row := x[k*b.Len : k*b.Len+b.length(k/n.DModel)]
		if n.Pool == model.PoolLast {
			return row[len(row)-1]
		}
		for _, v := range row {
			sum += v / float64(len(row))
		}
		if n.Pool == model.PoolMeanMax {
			sum += slices.Max(row)
		}
		return sum
	})
}

// pairFeatures: [a, b, a−b, a·b] of every pair, [B/2][4H].
func (n *reference) pairFeatures(pooled []float64) (f []float64) {
	h := n.DModel
	for ; len(pooled) > 0; pooled = pooled[2*h:] {
		a, b := pooled[:h], pooled[h:2*h]
		f = append(append(f, a...), b...)
		f = append(f, each(a, func(k int, v float64) float64 { return v - b[k] })...)
		f = append(f, each(a, func(k int, v float64) float64 { return v * b[k] })...)
	}
	return f
}

func (n *reference) activate(_ int, x float64) float64 {
	switch n.Activation {
	case model.ActivationGELU:
		return x * phi(x)
	case model.ActivationGELUTanh:
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return x
}

// phi is the distribution function of the normal distribution.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// mix: z = W·v + b at every position, and a gate (docs/maths.md §20). s is the output of the SSM.
func (n *reference) mix(l *model.Layer, v, s []float64, length int) []float64 {
	if n.Mixing == model.MixingNone {
		return v
	}
	z := linear(n.at(l.MixWeight), n.at(l.MixBias), v, length)
	gated := func(factor []float64, z func(k int) float64) []float64 {
		return each(factor, func(k int, f float64) float64 { return f / (1 + math.Exp(-z(k))) })
	}
	own := func(k int) float64 { return z[k] }
	switch n.Mixing {
	case model.MixingHalfGLU1:
		return gated(v, own)
	case model.MixingHalfGLU2:
		return gated(s, own)
	case model.MixingGLU: // [B][2][H][L]
		size := n.DModel * length
		first := each(v, func(k int, _ float64) float64 { return z[k/size*2*size+k%size] })
		return gated(first, func(k int) float64 { return z[k/size*2*size+size+k%size] })
	}
	return z
}

// norm: y = (x − mean)/√(var + eps)·weight + bias, over a position's channels or a channel's batch,
// padding included (docs/maths.md §3.3).
func (n *reference) norm(result *referenceResult, l *model.Layer, b *referenceBatch, x []float64) []float64 {
	h := n.DModel
	groups, size := b.Size*b.Len, float64(h)
	group := func(k int) int { return k/(h*b.Len)*b.Len + k%b.Len }
	switch n.Norm {
	case model.NormNone:
		return x
	case model.NormBatch:
		groups, size = h, float64(b.Size*b.Len)
		group = func(k int) int { return k / b.Len % h }
	}
	mean, variance := make([]float64, groups), make([]float64, groups)
	for k, v := range x {
		mean[group(k)] += v / size
	}
	for k, v := range x {
		d := v - mean[group(k)]
		variance[group(k)] += d * d / size
	}
	if n.Norm == model.NormBatch {
		oldMean, oldVariance, m, unbiased := n.at(l.RunningMean), n.at(l.RunningVar), n.Momentum(), size/(size-1)
		if n.NormBiased {
			unbiased = 1
		}
		result.Running = append(result.Running,
			each(mean, func(k int, v float64) float64 { return (1-m)*oldMean[k] + m*v }),
			each(variance, func(k int, v float64) float64 { return (1-m)*oldVariance[k] + m*v*unbiased }))
		if !b.Train {
			mean, variance = oldMean, oldVariance
		}
	}
	weight, bias := n.at(l.NormWeight), n.at(l.NormBias)
	return each(x, func(k int, v float64) float64 {
		g, c := group(k), k/b.Len%h
		return (v-mean[g])/math.Sqrt(variance[g]+n.Eps())*weight[c] + bias[c]
	})
}
