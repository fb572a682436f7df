package reference

// pool: the mean over the true length, or the last true position, of every channel: [B][H].
func (n *Network) pool(b *Batch, top []float64) []float64 {
	pooled := zeros(b.Size * n.H)
	for k := range pooled {
		for t := range b.Len {
			pooled[k] += n.poolWeight(b, k/n.H, t) * top[k*b.Len+t]
		}
	}
	return pooled
}

func (n *Network) poolBack(b *Batch, dPooled []float64) []float64 {
	d := zeros(len(dPooled) * b.Len)
	for k, v := range dPooled {
		for t := range b.Len {
			d[k*b.Len+t] = v * n.poolWeight(b, k/n.H, t)
		}
	}
	return d
}

// pairFeatures: [a, b, a−b, a·b] of pair p, [4H].
func (n *Network) pairFeatures(pooled []float64, p int) []float64 {
	a, b := pooled[2*p*n.H:(2*p+1)*n.H], pooled[(2*p+1)*n.H:(2*p+2)*n.H]
	f := zeros(4 * n.H)
	for h := range n.H {
		f[h], f[n.H+h], f[2*n.H+h], f[3*n.H+h] = a[h], b[h], a[h]-b[h], a[h]*b[h]
	}
	return f
}

// comparison: W·features + bias of pair p, [H].
func (n *Network) comparison(features []float64) []float64 {
	z := zeros(n.H)
	for h := range z {
		z[h] = n.CmpB[h]
		for k, f := range features {
			z[h] += n.CmpW[h*4*n.H+k] * f
		}
	}
	return z
}

// comparePairs: the decoder of GELU(comparison).
func (n *Network) comparePairs(b *Batch, pooled []float64) []float64 {
	logits := zeros(b.Size / 2 * n.DOutput)
	for p := range b.Size / 2 {
		z := n.comparison(n.pairFeatures(pooled, p))
		for o := range n.DOutput {
			logits[p*n.DOutput+o] = n.DecB[o]
			for h := range n.H {
				logits[p*n.DOutput+o] += n.DecW[o*n.H+h] * z[h] * phi(z[h])
			}
		}
	}
	return logits
}

func (n *Network) comparePairsBack(g *Network, b *Batch, pooled, dLogits []float64) []float64 {
	d := zeros(len(pooled))
	for p := range b.Size / 2 {
		f := n.pairFeatures(pooled, p)
		z := n.comparison(f)
		df := zeros(4 * n.H)
		for h := range n.H {
			dz := 0.0
			for o := range n.DOutput {
				v := dLogits[p*n.DOutput+o]
				g.DecW[o*n.H+h] += v * z[h] * phi(z[h])
				dz += v * n.DecW[o*n.H+h] * geluSlope(z[h])
			}
			g.CmpB[h] += dz
			for k := range f {
				g.CmpW[h*4*n.H+k] += dz * f[k]
				df[k] += dz * n.CmpW[h*4*n.H+k]
			}
		}
		for o := range n.DOutput {
			g.DecB[o] += dLogits[p*n.DOutput+o]
		}
		for h := range n.H {
			a, b := f[h], f[n.H+h]
			d[2*p*n.H+h] = df[h] + df[2*n.H+h] + df[3*n.H+h]*b
			d[(2*p+1)*n.H+h] = df[n.H+h] - df[2*n.H+h] + df[3*n.H+h]*a
		}
	}
	return d
}
