package vek

import "fmt"

const (
	gemmMR, gemmNR = 4, 2
	gemmKC         = 256
	gemmNC         = 256
	gemmMC         = 64
)

// GemmScratch returns the length of scratch that Gemm and GemmBias need for an m×n result and an
// inner length of k.
func GemmScratch(m, n, k int) int {
	kc := min(k, gemmKC)
	return max((roundUp(min(m, gemmMC), gemmMR)+roundUp(min(n, gemmNC), gemmNR))*kc, gemmVectorScratch(m, n, k))
}

func roundUp(n, m int) int { return (n + m - 1) / m * m }

// Form says which product Gemm computes, and where it goes.
type Form int

// The values of Form, which may be combined.
const (
	TransposeA Form = 1 << iota // A is the transpose of a
	TransposeB                  // B is the transpose of b
	Accumulate                  // the product is added to c
	Split                       // at level amx, the factors are split in bfloat16 numbers

	Plain Form = 0 // c = a·b
)

func (f Form) has(part Form) bool { return f&part != 0 }

// mode returns what becomes of c.
func (f Form) mode() int {
	if f.has(Accumulate) {
		return gemmAdd
	}
	return gemmSet
}

// Gemm sets c = A·B, or adds to it. A is m×k, B is k×n. The order of the sum over k depends on k
// alone, so c may be computed by blocks of rows or columns with the same bits. c must not overlap a
// or b. scratch has GemmScratch(m, n, k) floats.
func Gemm(c, a, b Matrix, form Form, scratch []float32, ahead ...Matrix) {
	m, n, k := checkGemm("Gemm", c, a, b, form, scratch)
	gemm(c, a, b, form, form.mode(), nil, scratch, m, n, k, nil, ahead)
}

// GemmBias sets c = a·b + bias, with one bias per row of c: the position-wise linear layer.
// Otherwise it is Gemm.
func GemmBias(c, a, b Matrix, bias, scratch []float32) {
	m, n, k := checkGemm("GemmBias", c, a, b, Plain, scratch)
	sameLen("GemmBias", m, bias)
	gemm(c, a, b, Plain, gemmBias, bias, scratch, m, n, k, nil, nil)
}

// Weights is a matrix that is packed once for many products, such as the weights of a linear layer.
// Each packed copy takes as much memory as the matrix.
type Weights struct {
	Matrix
	copies                    Copies
	level                     isa
	rows, columns, transposed []float32 // panels, of the level
}

// Copies says for which products Weights are packed.
type Copies int

const (
	ForProducts           Copies = 1 << iota // a·B
	ForNarrowProducts                        // a·B with few columns
	ForTransposedProducts                    // aᵀ·B
	ForSplitProducts                         // at level amx, products have the form Split
)

// NewWeights packs a for the level in use. Other products, and all at another level, pack it anew.
func NewWeights(a Matrix, copies Copies) *Weights {
	a.check("NewWeights")
	w := &Weights{Matrix: a, copies: copies}
	w.Pack()
	return w
}

// Pack packs the matrix again, after it or the level in use has changed. It allocates memory only
// if the level has changed. It must not be called during a product.
func (w *Weights) Pack() { w.pack() }

// GemmBias has the bits of GemmBias(c, w.Matrix, b, bias, scratch), and prefetches as
// GemmTransposed does.
func (w *Weights) GemmBias(c, b Matrix, bias, scratch []float32, ahead ...Matrix) {
	m, n, k := checkGemm("GemmBias", c, w.Matrix, b, Plain, scratch)
	sameLen("GemmBias", m, bias)
	gemm(c, w.Matrix, b, Plain, gemmBias, bias, scratch, m, n, k, w, ahead)
}

// GemmTransposed sets c = wᵀ·b, or adds it to c if form is Accumulate. It has the bits of Gemm. On
// amd64 it also prefetches what its caller reads next, the rows of ahead, into the L2 cache: a row
// every aheadRow steps of a tile of c, while the memory would be idle.
func (w *Weights) GemmTransposed(c, b Matrix, form Form, scratch []float32, ahead ...Matrix) {
	m, n, k := checkGemm("GemmTransposed", c, w.Matrix, b, TransposeA, scratch)
	gemm(c, w.Matrix, b, TransposeA, form.mode(), nil, scratch, m, n, k, w, ahead)
}

func checkGemm(name string, c, a, b Matrix, form Form, scratch []float32) (m, n, k int) {
	m, k = a.Rows, a.Cols
	if form.has(TransposeA) {
		m, k = k, m
	}
	kb, n := b.Rows, b.Cols
	if form.has(TransposeB) {
		kb, n = n, kb
	}
	if kb != k || c.Rows != m || c.Cols != n {
		panic(fmt.Sprintf("vek: %s: shapes: %d×%d by %d×%d into %d×%d", name, m, k, kb, n, c.Rows, c.Cols))
	}
	c.check(name)
	a.check(name)
	b.check(name)
	if need := GemmScratch(m, n, k); len(scratch) < need {
		panic(fmt.Sprintf("vek: %s: scratch of %d floats, expected %d", name, len(scratch), need))
	}
	return m, n, k
}

// The sizes of blocks of k, rows and columns, which stay in the caches. A product of panels adds
// its sum over up to gemmKC elements of k to c. Panels are padded with zeros to gemmMR rows and
// gemmNR columns.
func gemmGeneric(c, a, b Matrix, form Form, mode int, bias, scratch []float32, m, n, k int) {
	for i := range m {
		row := c.Row(i)
		switch mode {
		case gemmSet:
			clear(row)
		case gemmBias:
			for j := range row {
				row[j] = bias[i]
			}
		}
	}
	kc := min(k, gemmKC)
	pb := scratch[:roundUp(min(n, gemmNC), gemmNR)*kc]
	pa := scratch[len(pb):]
	for j0 := 0; j0 < n; j0 += gemmNC {
		nc := min(gemmNC, n-j0)
		for p0 := 0; p0 < k; p0 += gemmKC {
			kc := min(gemmKC, k-p0)
			packPanels(pb, b, !form.has(TransposeB), p0, kc, j0, nc, gemmNR)
			for i0 := 0; i0 < m; i0 += gemmMC {
				mc := min(gemmMC, m-i0)
				packPanels(pa, a, form.has(TransposeA), p0, kc, i0, mc, gemmMR)
				for j := 0; j < nc; j += gemmNR {
					for i := 0; i < mc; i += gemmMR {
						t := gemmKernel(pa[i*kc:(i+gemmMR)*kc], pb[j*kc:(j+gemmNR)*kc])
						addTile(c, i0+i, j0+j, min(gemmMR, mc-i), min(gemmNR, nc-j), &t)
					}
				}
			}
		}
	}
}

// addTile adds the upper left rows×cols corner of a kernel's result to c at (i, j).
func addTile(c Matrix, i, j, rows, cols int, t *[gemmMR * gemmNR]float32) {
	for r := range rows {
		row := c.Data[(i+r)*c.Stride+j:][:cols]
		for q := range row {
			row[q] += t[r*gemmNR+q]
		}
	}
}

// packPanels packs m into panels of width elements per inner index. alongRows says that the inner
// index runs over m's rows.
func packPanels(dst []float32, m Matrix, alongRows bool, p0, kc, x0, nx, width int) {
	for x := 0; x < nx; x += width {
		w := min(width, nx-x)
		d := dst[x*kc : (x+width)*kc]
		if w < width {
			clear(d)
		}
		if alongRows {
			src := m.Data[p0*m.Stride+x0+x:]
			for p := range kc {
				row, out := src[p*m.Stride:][:w], d[p*width:][:w]
				switch w { // full panels, without a call
				case gemmNR:
					out[0], out[1] = row[0], row[1]
				case gemmMR:
					out[0], out[1], out[2], out[3] = row[0], row[1], row[2], row[3]
				default:
					copy(out, row)
				}
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

// gemmKernel returns the product of a panel of four rows and a panel of two columns. Eight sums and
// three operands fit in 16 registers. Four steps per iteration hide the cost of the loop.
func gemmKernel(a, b []float32) [gemmMR * gemmNR]float32 {
	var c00, c01, c10, c11, c20, c21, c30, c31, x, y float32
	for len(a) >= 16 && len(b) >= 8 {
		x, y = b[0], b[1]
		c00, c01 = c00+float32(a[0]*x), c01+float32(a[0]*y)
		c10, c11 = c10+float32(a[1]*x), c11+float32(a[1]*y)
		c20, c21 = c20+float32(a[2]*x), c21+float32(a[2]*y)
		c30, c31 = c30+float32(a[3]*x), c31+float32(a[3]*y)
		x, y = b[2], b[3]
		c00, c01 = c00+float32(a[4]*x), c01+float32(a[4]*y)
		c10, c11 = c10+float32(a[5]*x), c11+float32(a[5]*y)
		c20, c21 = c20+float32(a[6]*x), c21+float32(a[6]*y)
		c30, c31 = c30+float32(a[7]*x), c31+float32(a[7]*y)
		x, y = b[4], b[5]
		c00, c01 = c00+float32(a[8]*x), c01+float32(a[8]*y)
		c10, c11 = c10+float32(a[9]*x), c11+float32(a[9]*y)
		c20, c21 = c20+float32(a[10]*x), c21+float32(a[10]*y)
		c30, c31 = c30+float32(a[11]*x), c31+float32(a[11]*y)
		x, y = b[6], b[7]
		c00, c01 = c00+float32(a[12]*x), c01+float32(a[12]*y)
		c10, c11 = c10+float32(a[13]*x), c11+float32(a[13]*y)
		c20, c21 = c20+float32(a[14]*x), c21+float32(a[14]*y)
		c30, c31 = c30+float32(a[15]*x), c31+float32(a[15]*y)
		a, b = a[16:], b[8:]
	}
	for len(a) >= 4 && len(b) >= 2 {
		x, y = b[0], b[1]
		c00, c01 = c00+float32(a[0]*x), c01+float32(a[0]*y)
		c10, c11 = c10+float32(a[1]*x), c11+float32(a[1]*y)
		c20, c21 = c20+float32(a[2]*x), c21+float32(a[2]*y)
		c30, c31 = c30+float32(a[3]*x), c31+float32(a[3]*y)
		a, b = a[4:], b[2:]
	}
	return [gemmMR * gemmNR]float32{c00, c01, c10, c11, c20, c21, c30, c31}
}
