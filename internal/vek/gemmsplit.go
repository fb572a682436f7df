//go:build (amd64 || arm64) && !purego

package vek

// The products of level amx. Each factor is split in two bfloat16 numbers: a·b is computed as
// a₁·b₁ + a₁·b₂ + a₂·b₁, with an error of about 2⁻¹⁶·|a|·|b|. A block of a factor is 32 rows or
// columns of c by 32 of k, padded with zeros, in the order of splitProduct. A strip is consecutive
// blocks of the same rows or columns.
const (
	splitSide  = 32
	splitBlock = splitSide * splitSide // floats of a block
	splitNC    = 32                    // blocks of b that stay in the L2 cache
)

func splitBlocks(n int) int { return (n + splitSide - 1) / splitSide }

// splitScratch returns the scratch of splitGemm.
func splitScratch(n, k int) int {
	k = splitBlocks(min(k, panelKC))
	return splitBlock * (2 + k + min(splitBlocks(n)*k, splitNC))
}

// factor is a matrix with size rows or columns of c. k runs along its rows, or from row to row.
type factor struct {
	Matrix
	size           int
	alongK, turned bool // turned: a tile is the transpose of what is loaded
}

// pack packs a strip from k = p to p + kc. tile is scratch.
func (f factor) pack(dst []float32, strip, p, kc int, tile []float32) {
	split, stepX, stepK, tileX, tileK := splitPairs, 1, f.Stride, 1, cacheLine
	if f.turned {
		split = splitTurned
	}
	if f.alongK {
		stepX, stepK, tileX, tileK = f.Stride, 1, splitSide, 1
	}
	for half := range 2 {
		x, dst := splitSide*strip+cacheLine*half, dst[splitBlock/2*half:]
		width, whole := min(cacheLine, f.size-x), 0
		if width == cacheLine && kc >= splitSide {
			whole = kc / splitSide
			split(&dst[0], &f.Data[x*stepX+p*stepK], cacheLine*stepK, f.Stride, splitSide*stepK, whole)
		}
		for q := whole; q < splitBlocks(kc); q++ {
			clear(tile)
			for i := range width {
				for l := range min(splitSide, kc-splitSide*q) {
					tile[i*tileX+l*tileK] = f.Data[(x+i)*stepX+(p+splitSide*q+l)*stepK]
				}
			}
			split(&dst[q*splitBlock], &tile[0], cacheLine*tileK, tileX*tileK, 0, 1)
		}
	}
}

// factorA returns the factor with the rows of c, and the length of k.
func factorA(a Matrix, form Form) (f factor, k int) {
	if form.has(TransposeA) {
		return factor{a, a.Cols, false, true}, a.Rows
	}
	return factor{a, a.Rows, true, false}, a.Cols
}

// packSplit packs all strips of a factor. The rest of dst is scratch.
func packSplit(dst []float32, a Matrix, form Form) {
	f, k := factorA(a, form)
	size := splitBlocks(k) * splitBlock
	for i := range splitBlocks(f.size) {
		f.pack(dst[i*size:], i, 0, k, dst[splitBlocks(f.size)*size:][:splitBlock/2])
	}
}

// splitGemm is gemm on the matrix units. If w is not nil, its matrix is a.
func splitGemm(c, a, b Matrix, form Form, mode int, bias, scratch []float32, w *Weights, ahead []Matrix) {
	fa, k := factorA(a, form)
	fb := factor{b, b.Cols, false, false}
	if form.has(TransposeB) {
		fb = factor{b, b.Rows, true, true}
	}
	s := squares{c: c, bias: bias, square: scratch[:splitBlock], column: scratch[splitBlock:][:splitBlock/2], ahead: ahead}
	scratch = scratch[2*splitBlock:]
	var ready []float32
	if w != nil {
		if ready = w.rows; form.has(TransposeA) {
			ready = w.transposed
		}
	}
	for p := 0; p < k; p += panelKC {
		kc := min(panelKC, k-p)
		size := splitBlocks(kc) * splitBlock
		wide := splitNC / splitBlocks(kc)
		for j := 0; j < splitBlocks(fb.size); j += wide {
			count := min(wide, splitBlocks(fb.size)-j)
			strip, strips := scratch[:size], scratch[size:][:count*size]
			for q := range count {
				fb.pack(strips[q*size:], j+q, p, kc, s.column)
			}
			for i := range splitBlocks(fa.size) {
				if ready != nil {
					strip = ready[i*splitBlocks(k)*splitBlock+p*splitSide:]
				} else {
					fa.pack(strip, i, p, kc, s.column)
				}
				s.multiply(mode, i, j, count, splitBlocks(kc), strip, strips)
			}
		}
		mode = gemmAdd
	}
}

// squares are the parts of c that splitProduct computes.
type squares struct {
	c              Matrix
	bias           []float32
	square, column []float32 // scratch: a square, and half of one
	ahead          []Matrix  // to prefetch
	aheadRow       int       // of the first of them, the next to prefetch
}

// multiply computes count squares from square (i, j) on, from k blocks of a and count·k of b.
func (s *squares) multiply(mode, i, j, count, k int, a, b []float32) {
	c := s.c.RowRange(splitSide*i, s.c.Rows).Columns(splitSide*j, s.c.Cols)
	whole := 0
	if c.Rows >= splitSide {
		whole = min(count, c.Cols/splitSide)
	}
	if mode == gemmBias {
		for r := range min(splitSide, c.Rows) {
			for q := range cacheLine {
				s.column[r*cacheLine+q] = s.bias[splitSide*i+r]
			}
		}
	}
	for q, n := 0, 0; q < count; q += n {
		part := c.Columns(splitSide*q, c.Cols)
		out := part
		if n = whole; q >= whole { // an edge of c
			n, out = 1, MatrixOf(s.square, splitSide, splitSide)
			copyRows(out, part)
		}
		var from *float32
		ldfrom, from2 := cacheLine, 0
		switch mode {
		case gemmBias:
			from = &s.column[0]
		case gemmAdd:
			from, ldfrom, from2 = &out.Data[0], out.Stride, cacheLine
		}
		row, stride, pieces := s.prefetch(&a[0], 4*n*k)
		splitProduct(n, k, &a[0], &b[q*k*splitBlock], &out.Data[0], out.Stride, from, ldfrom, from2, row, stride, pieces)
		if q >= whole {
			copyRows(part, out)
		}
	}
}

// prefetch returns rows of ahead for n pieces of four cache lines: the first row, the bytes between
// rows and the pieces of a row. If none is left, it returns what is in the cache.
func (s *squares) prefetch(cached *float32, n int) (row *float32, stride, pieces int) {
	if len(s.ahead) == 0 {
		return cached, 0, 1
	}
	m := s.ahead[0]
	row, pieces = &m.Data[s.aheadRow*m.Stride], (m.Cols+4*cacheLine-1)/(4*cacheLine)
	if s.aheadRow += n / pieces; s.aheadRow >= m.Rows {
		s.ahead, s.aheadRow = s.ahead[1:], 0
	}
	return row, 4 * m.Stride, pieces
}

// copyRows copies what both matrices have.
func copyRows(dst, src Matrix) {
	for r := range min(dst.Rows, src.Rows) {
		copy(dst.Row(r), src.Row(r))
	}
}
