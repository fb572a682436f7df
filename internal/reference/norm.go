package reference

import "math"

// NormTape holds the results of a norm.
type NormTape struct {
	Hat  []float64 // (x − mean)/√(var + eps)
	Rstd []float64 // 1/√(var + eps) of every element's group
	// Mean and Var are a batch norm's running statistics after this batch: (1−m)·old + m·new with
	// m = NormMomentum, the variance unbiased unless NormBiased.
	Mean, Var []float64
}

// group returns the index of the mean for element k of [B][H][L]: its position (layer) or its
// channel (batch).
func (n *Network) group(b *Batch, k int) int {
	if n.NormKind == "layer" {
		return k/(n.H*b.Len)*b.Len + k%b.Len
	}
	return k / b.Len % n.H
}

func (n *Network) groups(b *Batch) (count int, size float64) {
	if n.NormKind == "layer" {
		return b.Size * b.Len, float64(n.H)
	}
	return n.H, float64(b.Size * b.Len)
}

// norm: y = (x − mean)/√(var + eps)·weight + bias, over a position's channels or a channel's batch.
func (n *Network) norm(p Norm, b *Batch, x []float64) ([]float64, NormTape) {
	count, size := n.groups(b)
	mean, variance := zeros(count), zeros(count)
	for k, v := range x {
		mean[n.group(b, k)] += v / size
	}
	for k, v := range x {
		d := v - mean[n.group(b, k)]
		variance[n.group(b, k)] += d * d / size
	}
	t := NormTape{Hat: zeros(len(x)), Rstd: zeros(len(x))}
	if n.NormKind == "batch" {
		t.Mean, t.Var = zeros(n.H), zeros(n.H)
		m, unbiased := n.NormMomentum, size/(size-1)
		if n.NormBiased {
			unbiased = 1
		}
		for h := range n.H {
			t.Mean[h] = (1-m)*p.Mean[h] + m*mean[h]
			t.Var[h] = (1-m)*p.Var[h] + m*variance[h]*unbiased
		}
		if !b.Train {
			mean, variance = p.Mean, p.Var
		}
	}
	y := zeros(len(x))
	for k, v := range x {
		g, h := n.group(b, k), k/b.Len%n.H
		t.Rstd[k] = 1 / math.Sqrt(variance[g]+n.NormEps)
		t.Hat[k] = (v - mean[g]) * t.Rstd[k]
		y[k] = t.Hat[k]*p.Weight[h] + p.Bias[h]
	}
	return y, t
}

// normBack: dx = rstd·(e − mean(e) − hat·mean(e·hat)) over the group, with e = d·weight. A batch
// norm is that of training.
func (n *Network) normBack(g *Norm, p Norm, b *Batch, x []float64, t NormTape, d []float64) []float64 {
	count, size := n.groups(b)
	sum, dot := zeros(count), zeros(count)
	for k, v := range d {
		h, i := k/b.Len%n.H, n.group(b, k)
		g.Weight[h] += v * t.Hat[k]
		g.Bias[h] += v
		sum[i] += v * p.Weight[h] / size
		dot[i] += v * p.Weight[h] * t.Hat[k] / size
	}
	dx := zeros(len(x))
	for k, v := range d {
		i := n.group(b, k)
		dx[k] = t.Rstd[k] * (v*p.Weight[k/b.Len%n.H] - sum[i] - t.Hat[k]*dot[i])
	}
	return dx
}
