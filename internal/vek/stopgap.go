package vek

// STOPGAP so that dependents compile: the owner of internal/vek deletes this file when its own versions land.

import "math"

func checkLen(name string, n int, s ...[]float32) {
	for _, x := range s {
		if len(x) != n {
			panic("vek: " + name + ": lengths differ")
		}
	}
}

func Add(dst, a, b []float32) {
	checkLen("Add", len(dst), a, b)
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}
func Axpy(dst []float32, alpha float32, x []float32) {
	checkLen("Axpy", len(dst), x)
	for i := range dst {
		dst[i] += float32(alpha * x[i])
	}
}
func Scale(dst []float32, alpha float32, x []float32) {
	checkLen("Scale", len(dst), x)
	for i := range dst {
		dst[i] = alpha * x[i]
	}
}
func ScaleShift(dst, x []float32, scale, shift float32) {
	checkLen("ScaleShift", len(dst), x)
	for i := range dst {
		dst[i] = float32(scale*x[i]) + shift
	}
}
func Mul(dst, a, b []float32) {
	checkLen("Mul", len(dst), a, b)
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}
func AddConst(dst, x []float32, c float32) {
	checkLen("AddConst", len(dst), x)
	for i := range dst {
		dst[i] = x[i] + c
	}
}
func Sum(x []float32) float32 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return float32(s)
}
func Dot(x, y []float32) float32 {
	checkLen("Dot", len(x), y)
	s := 0.0
	for i, v := range x {
		s += float64(v) * float64(y[i])
	}
	return float32(s)
}
func SumSquares(x []float32) float32 { return Dot(x, x) }
func Exp(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}
func Sigmoid(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func GELU(dst, x []float32) {
	checkLen("GELU", len(dst), x)
	for i, v := range x {
		z := float64(v)
		dst[i] = float32(0.5 * z * math.Erfc(-z*math.Sqrt2/2))
	}
}
func GELUGrad(dx, x, dy []float32) {
	checkLen("GELUGrad", len(dx), x, dy)
	for i, v := range x {
		z := float64(v)
		g := 0.5*math.Erfc(-z*math.Sqrt2/2) + z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
		dx[i] = float32(g) * dy[i]
	}
}
func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }
func GLU(dst, a, b []float32) {
	checkLen("GLU", len(dst), a, b)
	for i := range dst {
		dst[i] = a[i] * sigmoid(b[i])
	}
}
func GLUGrad(da, db, a, b, dy []float32) {
	checkLen("GLUGrad", len(da), db, a, b, dy)
	for i, d := range dy {
		s := sigmoid(b[i])
		v := a[i]
		da[i] = d * s
		db[i] = d * v * s * (1 - s)
	}
}
func LayerNorm(y, x Matrix, gamma, beta, mean, rstd []float32, eps float32) {
	n := 1 / float32(x.Rows)
	mean, rstd = mean[:x.Cols], rstd[:x.Cols]
	clear(mean)
	clear(rstd)
	for h := range x.Rows {
		for t, v := range x.Row(h) {
			mean[t] += v
		}
	}
	for t := range mean {
		mean[t] *= n
	}
	for h := range x.Rows {
		for t, v := range x.Row(h) {
			d := v - mean[t]
			rstd[t] += d * d
		}
	}
	for t, v := range rstd {
		rstd[t] = 1 / float32(math.Sqrt(float64(v*n+eps)))
	}
	for h := range x.Rows {
		row, g, b := y.Row(h), gamma[h], beta[h]
		for t, v := range x.Row(h) {
			row[t] = (v-mean[t])*rstd[t]*g + b
		}
	}
}
func LayerNormGrad(dx, dy, x Matrix, gamma, mean, rstd, dgamma, dbeta, scratch []float32) {
	c := x.Cols
	s1, s2 := scratch[:c], scratch[c:2*c]
	clear(s1)
	clear(s2)
	for h := range x.Rows {
		g := gamma[h]
		dr := dy.Row(h)
		var sg, sb float32
		for t, v := range x.Row(h) {
			xh := (v - mean[t]) * rstd[t]
			d := dr[t]
			sg += d * xh
			sb += d
			s1[t] += d * g
			s2[t] += d * g * xh
		}
		dgamma[h] += sg
		dbeta[h] += sb
	}
	n := 1 / float32(x.Rows)
	for h := range x.Rows {
		g := gamma[h]
		dr, out := dy.Row(h), dx.Row(h)
		for t, v := range x.Row(h) {
			xh := (v - mean[t]) * rstd[t]
			out[t] = rstd[t] * (dr[t]*g - n*s1[t] - xh*n*s2[t])
		}
	}
}
func AffineGrad(dx, dy, x []float32, a, b, c float32) {
	for i := range dx {
		dx[i] = a*dy[i] + b*x[i] + c
	}
}
func SoftmaxCrossEntropy(d, logits []float32, label int) float32 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	loss := math.Log(sum) + top - float64(logits[label])
	for i, v := range logits {
		d[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	d[label]--
	return float32(loss)
}

type AdamWParams struct {
	LR, WeightDecay, Beta1, Beta2, Eps, Correction1, Correction2 float32
}

func AdamW(p, m, v, g []float32, h AdamWParams) {
	decay, step, c2 := 1-h.LR*h.WeightDecay, h.LR/h.Correction1, 1/float32(math.Sqrt(float64(h.Correction2)))
	for i, gi := range g {
		m[i] += (1 - h.Beta1) * (gi - m[i])
		v[i] = h.Beta2*v[i] + (1-h.Beta2)*gi*gi
		p[i] = p[i]*decay - step*m[i]/(float32(math.Sqrt(float64(v[i])))*c2+h.Eps)
	}
}
func SSMBlock(y, x, hRe, hIm, lamRe, lamIm, cRe, cIm []float32, d float32) {
	for t, u := range x {
		var s float32
		for n := range hRe {
			re := lamRe[n]*hRe[n] - lamIm[n]*hIm[n] + u
			im := lamRe[n]*hIm[n] + lamIm[n]*hRe[n]
			if re*re+im*im < 1e-30 {
				re, im = 0, 0
			}
			hRe[n], hIm[n] = re, im
			s += cRe[n]*re - cIm[n]*im
		}
		y[t] = 2*s + d*u
	}
}
