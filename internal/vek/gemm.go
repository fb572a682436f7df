package vek

const (
	gemmMR, gemmNR = 4, 4
	gemmKC         = 256
	gemmNC         = 256
	gemmMC         = 64
)

// GemmScratch returns the floats of scratch that Gemm needs for an m×n result and an inner length of k.
func GemmScratch(m, n, k int) int {
	kc := min(k, gemmKC)
	return (roundUp(min(m, gemmMC), gemmMR) + roundUp(min(n, gemmNC), gemmNR)) * kc
}

func roundUp(n, m int) int { return (n + m - 1) / m * m }

// Gemm sets c = A·B, or adds to it when acc; A is m×k (a, or its transpose when transA), B is k×n.
func Gemm(c, a, b Matrix, transA, transB, acc bool, scratch []float32) {
	m, k := a.Rows, a.Cols
	if transA {
		m, k = k, m
	}
	kb, n := b.Rows, b.Cols
	if transB {
		kb, n = n, kb
	}
	if kb != k || c.Rows != m || c.Cols != n {
		panic("vek: Gemm: shapes do not match")
	}
	c.check("Gemm c")
	a.check("Gemm a")
	b.check("Gemm b")
	if len(scratch) < GemmScratch(m, n, k) {
		panic("vek: Gemm: scratch too short")
	}
	gemmGeneric(c, a, b, transA, transB, acc, scratch, m, n, k)
}

func gemmGeneric(c, a, b Matrix, transA, transB, acc bool, scratch []float32, m, n, k int) {
	if !acc {
		for i := range m {
			clear(c.Row(i))
		}
	}
	kc := min(k, gemmKC)
	pb := scratch[:roundUp(min(n, gemmNC), gemmNR)*kc]
	pa := scratch[len(pb):]
	for j0 := 0; j0 < n; j0 += gemmNC {
		nc := min(gemmNC, n-j0)
		for p0 := 0; p0 < k; p0 += gemmKC {
			kc := min(gemmKC, k-p0)
			packPanels(pb, b, !transB, p0, kc, j0, nc, gemmNR)
			for i0 := 0; i0 < m; i0 += gemmMC {
				mc := min(gemmMC, m-i0)
				packPanels(pa, a, transA, p0, kc, i0, mc, gemmMR)
				for j := 0; j < nc; j += gemmNR {
					for i := 0; i < mc; i += gemmMR {
						var t [16]float32
						gemmKernel(&t, pa[i*kc:(i+gemmMR)*kc], pb[j*kc:(j+gemmNR)*kc])
						for r := range min(gemmMR, mc-i) {
							row := c.Row(i0 + i + r)[j0+j:]
							for q := range min(gemmNR, nc-j) {
								row[q] += t[r*4+q]
							}
						}
					}
				}
			}
		}
	}
}

// packPanels lays out width-wide panels, inner index slow. alongRows: the inner index runs over m's rows.
func packPanels(dst []float32, m Matrix, alongRows bool, p0, kc, x0, nx, width int) {
	for x := 0; x < nx; x += width {
		w := min(width, nx-x)
		d := dst[x*kc : (x+width)*kc]
		if w < width {
			clear(d)
		}
		if alongRows {
			for p := range kc {
				copy(d[p*width:p*width+w], m.Data[(p0+p)*m.Stride+x0+x:][:w])
			}
			continue
		}
		for q := range w {
			src := m.Data[(x0+x+q)*m.Stride+p0:][:kc]
			for p, v := range src {
				d[p*width+q] = v
			}
		}
	}
}

func gemmKernel(t *[16]float32, a, b []float32) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float32
	var d00, d01, d02, d03, d10, d11, d12, d13 float32
	for len(a) >= 4 && len(b) >= 4 {
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x := a[0]
		c00 += float32(x * b0)
		c01 += float32(x * b1)
		c02 += float32(x * b2)
		c03 += float32(x * b3)
		x = a[1]
		c10 += float32(x * b0)
		c11 += float32(x * b1)
		c12 += float32(x * b2)
		c13 += float32(x * b3)
		x = a[2]
		d00 += float32(x * b0)
		d01 += float32(x * b1)
		d02 += float32(x * b2)
		d03 += float32(x * b3)
		x = a[3]
		d10 += float32(x * b0)
		d11 += float32(x * b1)
		d12 += float32(x * b2)
		d13 += float32(x * b3)
		a, b = a[4:], b[4:]
	}
	*t = [16]float32{c00, c01, c02, c03, c10, c11, c12, c13, d00, d01, d02, d03, d10, d11, d12, d13}
}
