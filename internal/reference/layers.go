package reference

import "math"

// encode: x = W·input + b at every position, or the row of W for the token.
func (n *Network) encode(b *Batch) []float64 {
	x := zeros(b.Size * n.H * b.Len)
	for i := range b.Size {
		for h := range n.H {
			for t := range b.Len {
				at := (i*n.H+h)*b.Len + t
				if n.Embedding {
					x[at] = n.EncW[b.Tokens[i*b.Len+t]*n.H+h]
					continue
				}
				x[at] = n.EncB[h]
				for c := range n.DInput {
					x[at] += n.EncW[h*n.DInput+c] * b.X[(i*n.DInput+c)*b.Len+t]
				}
			}
		}
	}
	return x
}

func (n *Network) encodeBack(g *Network, b *Batch, d []float64) {
	for i := range b.Size {
		for h := range n.H {
			for t := range b.Len {
				v := d[(i*n.H+h)*b.Len+t]
				if n.Embedding {
					g.EncW[b.Tokens[i*b.Len+t]*n.H+h] += v
					continue
				}
				g.EncB[h] += v
				for c := range n.DInput {
					g.EncW[h*n.DInput+c] += v * b.X[(i*n.DInput+c)*b.Len+t]
				}
			}
		}
	}
}

// poolWeight returns the weight of position t of sequence i in the pooled vector.
func (n *Network) poolWeight(b *Batch, i, t int) float64 {
	last := b.length(i) - 1
	switch {
	case n.Pool == "mean" && t <= last:
		return 1 / float64(last+1)
	case n.Pool == "last" && t == last:
		return 1
	}
	return 0
}

// decode pools and applies the linear decoder, which without a pool is applied at every position.
func (n *Network) decode(b *Batch, top []float64) (pooled, logits []float64) {
	if n.Pool == "none" {
		logits = zeros(b.Size * n.DOutput * b.Len)
		for i := range b.Size {
			for o := range n.DOutput {
				for t := range b.Len {
					v := n.DecB[o]
					for h := range n.H {
						v += n.DecW[o*n.H+h] * top[(i*n.H+h)*b.Len+t]
					}
					logits[(i*n.DOutput+o)*b.Len+t] = v
				}
			}
		}
		return nil, logits
	}
	pooled, logits = n.pool(b, top), zeros(b.Size*n.DOutput)
	for i := range b.Size {
		for o := range n.DOutput {
			logits[i*n.DOutput+o] = n.DecB[o]
			for h := range n.H {
				logits[i*n.DOutput+o] += n.DecW[o*n.H+h] * pooled[i*n.H+h]
			}
		}
	}
	return pooled, logits
}

func (n *Network) decodeBack(g *Network, t *Tape, dLogits []float64) []float64 {
	b := &t.Batch
	d := zeros(b.Size * n.H * b.Len)
	for i := range b.Size {
		for o := range n.DOutput {
			for h := range n.H {
				if n.Pool != "none" {
					v := dLogits[i*n.DOutput+o]
					g.DecW[o*n.H+h] += v * t.Pooled[i*n.H+h]
					for s := range b.Len {
						d[(i*n.H+h)*b.Len+s] += v * n.DecW[o*n.H+h] * n.poolWeight(b, i, s)
					}
					continue
				}
				for s := range b.Len {
					v := dLogits[(i*n.DOutput+o)*b.Len+s]
					g.DecW[o*n.H+h] += v * t.Top[(i*n.H+h)*b.Len+s]
					d[(i*n.H+h)*b.Len+s] += v * n.DecW[o*n.H+h]
				}
			}
		}
	}
	per := len(dLogits) / (b.Size * n.DOutput)
	for k, v := range dLogits {
		g.DecB[k/per%n.DOutput] += v
	}
	return d
}

// mask sets positions from the true length on to 0.
func (n *Network) mask(b *Batch, x []float64) []float64 {
	y := zeros(len(x))
	for k, v := range x {
		if k%b.Len < b.length(k/b.Len/n.H) {
			y[k] = v
		}
	}
	return y
}

// activate: x·Φ(x), its form with tanh, or x.
func (n *Network) activate(x []float64) []float64 {
	y := zeros(len(x))
	for k, v := range x {
		switch n.Activation {
		case "gelu":
			y[k] = v * phi(v)
		case "gelu-tanh":
			y[k], _ = geluTanh(v)
		default:
			y[k] = v
		}
	}
	return y
}

func (n *Network) activateBack(x, d []float64) []float64 {
	g := zeros(len(x))
	for k, v := range x {
		slope := 1.0
		switch n.Activation {
		case "gelu":
			slope = geluSlope(v)
		case "gelu-tanh":
			_, slope = geluTanh(v)
		}
		g[k] = d[k] * slope
	}
	return g
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// geluSlope: the derivative of x·Φ(x).
func geluSlope(x float64) float64 { return phi(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) }

// geluTanh: x/2·(1 + tanh(√(2/π)·(x + 0.044715x³))) and its derivative.
func geluTanh(x float64) (y, slope float64) {
	c := math.Sqrt(2 / math.Pi)
	t := math.Tanh(c * (x + 0.044715*x*x*x))
	return x / 2 * (1 + t), (1+t)/2 + x/2*(1-t*t)*c*(1+3*0.044715*x*x)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// mix: z = W·v + b at every position. With "glu" the result is the first half of z times the
// sigmoid of the second, with "half-glu1" v·σ(z), and with "half-glu2" s·σ(z), where s is the
// output of the SSM.
func (n *Network) mix(l *Layer, b *Batch, v, s []float64) (z, y []float64) {
	if n.Mixing == "none" {
		return nil, v
	}
	rows := len(l.MixB)
	z = zeros(b.Size * rows * b.Len)
	for i := range b.Size {
		for r := range rows {
			for t := range b.Len {
				sum := l.MixB[r]
				for h := range n.H {
					sum += l.MixW[r*n.H+h] * v[(i*n.H+h)*b.Len+t]
				}
				z[(i*rows+r)*b.Len+t] = sum
			}
		}
	}
	if n.Mixing == "linear" {
		return z, z
	}
	y = zeros(b.Size * n.H * b.Len)
	for k := range y {
		switch n.Mixing {
		case "glu":
			a, gate := n.halves(b, k)
			y[k] = z[a] * sigmoid(z[gate])
		case "half-glu1":
			y[k] = v[k] * sigmoid(z[k])
		case "half-glu2":
			y[k] = s[k] * sigmoid(z[k])
		}
	}
	return z, y
}

// halves returns the indices in [B][2H][L] of the two elements that belong to element k of
// [B][H][L].
func (n *Network) halves(b *Batch, k int) (a, gate int) {
	i, rest := k/(n.H*b.Len), k%(n.H*b.Len)
	a = 2*i*n.H*b.Len + rest
	return a, a + n.H*b.Len
}

// mixBack returns the gradients of the arguments v and s of mix.
func (n *Network) mixBack(g, l *Layer, b *Batch, t *BlockTape, dy []float64) (dv, ds []float64) {
	dv, ds = zeros(len(dy)), zeros(len(dy))
	if n.Mixing == "none" {
		return dy, ds
	}
	dz := dy
	if n.Mixing != "linear" {
		dz = zeros(len(t.Mixed))
		for k, d := range dy {
			switch n.Mixing {
			case "glu":
				a, gate := n.halves(b, k)
				s := sigmoid(t.Mixed[gate])
				dz[a] = d * s
				dz[gate] = d * t.Mixed[a] * s * (1 - s)
			case "half-glu1":
				s := sigmoid(t.Mixed[k])
				dv[k] = d * s
				dz[k] = d * t.Active[k] * s * (1 - s)
			case "half-glu2":
				s := sigmoid(t.Mixed[k])
				ds[k] = d * s
				dz[k] = d * t.Conv[k] * s * (1 - s)
			}
		}
	}
	rows := len(l.MixB)
	for i := range b.Size {
		for r := range rows {
			for s := range b.Len {
				d := dz[(i*rows+r)*b.Len+s]
				g.MixB[r] += d
				for h := range n.H {
					g.MixW[r*n.H+h] += d * t.Active[(i*n.H+h)*b.Len+s]
					dv[(i*n.H+h)*b.Len+s] += d * l.MixW[r*n.H+h]
				}
			}
		}
	}
	return dv, ds
}

// scaleRows multiplies the row of every (sequence, channel) by its dropout factor.
func scaleRows(x []float64, factors [][]float64, layer, length int) []float64 {
	if factors == nil {
		return x
	}
	y := zeros(len(x))
	for k, v := range x {
		y[k] = v * factors[layer][k/length]
	}
	return y
}

func add(x, y []float64) []float64 {
	s := zeros(len(x))
	for i := range s {
		s[i] = x[i] + y[i]
	}
	return s
}
