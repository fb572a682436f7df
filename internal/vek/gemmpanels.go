//go:build (amd64 || arm64) && !purego

package vek

// The vector levels multiply panels of a, [k][rows] with up to tileRows rows, by panels of b,
// [k][cols] with a few vectors of columns, padded with zeros. A tile of c stays in registers for a
// whole block of k.
const (
	panelKC = 256 // a panel of b fits in the L1 cache
	panelMC = 266 // blocks of rows and columns whose panels fit in the L2 cache; 2·128 rows are one block
	panelNC = 256
)

// gemm sets c = A·B, adds it to c, or sets c = A·B + bias, by mode. If a is w's matrix, its panels
// are those of w.
func gemm(c, a, b Matrix, form Form, mode int, bias, scratch []float32, m, n, k int, w *Weights, ahead []Matrix) {
	if current() == generic {
		gemmGeneric(c, a, b, form, mode, bias, scratch, m, n, k)
		return
	}
	if splits() && k > 0 && (form.has(Split) || w != nil && w.level == amx) {
		splitGemm(c, a, b, form, mode, bias, scratch, w, ahead)
		return
	}
	transA, transB := form.has(TransposeA), form.has(TransposeB)
	g := panels{tiling: tilingOf(current().lanes()), c: c, a: a, b: b, transA: transA, transB: transB, bias: bias, ahead: ahead}
	turned := n <= g.tileRows && n < m
	if w != nil && w.level == current() {
		switch {
		case turned && !transA:
			g.readyB = w.columns
		case !turned && transA:
			g.readyA = w.transposed
		case !turned:
			g.readyA = w.rows
		}
	}
	if turned { // Cᵀ = Bᵀ·Aᵀ fills the vectors
		g.turned = true
		g.a, g.b, g.transA, g.transB = b, a, !transB, !transA
		m, n = n, m
	}
	g.multiply(mode, scratch, m, n, k)
}

// pack packs w's panels for the level in use.
func (w *Weights) pack() {
	if current() == generic {
		w.level = generic // the panels of another level are out of date
		return
	}
	m, k := w.Rows, w.Cols
	g := panels{tiling: tilingOf(current().lanes()), a: w.Matrix, b: w.Matrix, transB: true}
	columns, size, level := roundUp(m, g.cols), m*k, current()
	split := splits() && w.copies&ForSplitProducts != 0
	if split {
		size, level = (splitBlocks(m)*splitBlocks(k)+1)*splitBlock, amx
	}
	if w.level != level {
		w.level = level
		floats := func(copies Copies, n int) []float32 {
			if w.copies&copies == 0 {
				return nil
			}
			return Aligned(n)
		}
		w.rows, w.columns, w.transposed = floats(ForProducts, size), floats(ForNarrowProducts, columns*k), floats(ForTransposedProducts, size)
	}
	if split {
		packSplit(w.rows, w.Matrix, Plain)
		if w.transposed != nil {
			packSplit(w.transposed, w.Matrix, TransposeA)
		}
		return
	}
	if w.rows != nil {
		g.packAll(w.rows, m, k)
	}
	for p0 := 0; w.columns != nil && p0 < k; p0 += panelKC {
		kc := min(panelKC, k-p0)
		g.packB(w.columns[p0*columns:][:columns*kc], p0, kc, 0, m)
	}
	if w.transposed != nil {
		g.transA = true
		g.packAll(w.transposed, k, m)
	}
}

// packAll packs all of a, m rows of length k.
func (g *panels) packAll(dst []float32, m, k int) {
	for p0 := 0; p0 < k; p0 += panelKC {
		kc := min(panelKC, k-p0)
		for i0 := 0; i0 < m; i0 += panelMC {
			mc := min(panelMC, m-i0)
			g.packA(dst[p0*m+i0*kc:][:mc*kc], p0, kc, i0, mc)
		}
	}
}

// gemmVectorScratch returns the scratch of panels at any level, and of a tile of a transposed
// product.
func gemmVectorScratch(m, n, k int) int {
	kc := min(k, panelKC)
	straight := RoundToPanels(min(n, panelNC))*kc + min(m, panelMC)*kc
	turned := RoundToPanels(min(m, panelNC))*kc + min(n, panelMC)*kc
	return max(max(straight, turned)+14*32, splitScratch(n, k))
}

// panels is the state of one product.
type panels struct {
	tiling
	c, a, b        Matrix
	transA, transB bool
	turned         bool // c is the transposed result
	bias           []float32
	tile           []float32
	readyA, readyB []float32 // panels of all of a or of b that are packed already
	inPlace        int       // the first columns of a block that are read where they are, without packing
	ahead          []Matrix  // to prefetch
	aheadRow       int       // of the first of them, the next to prefetch
}

// spread reports whether the rows of a panel of b are read as fast where they are as packed: on
// whole cache lines, which are in many sets of the L1 cache.
func (g *panels) spread() bool {
	return !g.transB && !g.turned && g.b.Stride%cacheLine == 0 && g.b.Stride%(8*cacheLine) != 0
}

func (g *panels) multiply(mode int, scratch []float32, m, n, k int) {
	g.tile, scratch = scratch[:g.tileRows*g.cols], scratch[g.tileRows*g.cols:]
	for p0 := 0; p0 == 0 || p0 < k; p0 += panelKC {
		kc := min(panelKC, k-p0)
		wide := panelNC / g.cols * g.cols
		for j0 := 0; j0 < n; j0 += wide {
			nc := min(wide, n-j0)
			pb := scratch[:roundUp(nc, g.cols)*kc]
			g.inPlace = 0
			if g.readyB != nil {
				pb = g.readyB[p0*roundUp(n, g.cols)+j0*kc:][:len(pb)]
			} else {
				if g.spread() {
					g.inPlace = nc / g.cols * g.cols
				}
				g.packB(pb[g.inPlace*kc:], p0, kc, j0+g.inPlace, nc-g.inPlace)
			}
			for i0 := 0; i0 < m; i0 += panelMC {
				mc := min(panelMC, m-i0)
				pa := scratch[len(pb):][:mc*kc]
				if g.transA && mc <= g.tileRows && g.a.Stride == mc && kc > 0 {
					pa = g.a.Data[p0*mc:] // these rows already have the layout of a panel
				} else if g.readyA != nil {
					pa = g.readyA[p0*m+i0*kc:][:len(pa)]
				} else {
					g.packA(pa, p0, kc, i0, mc)
				}
				g.block(mode, pa, pb, p0, kc, i0, mc, j0, nc)
			}
		}
		mode = gemmAdd
	}
}

// cut divides rows into panels of nearly equal height.
type cut struct{ count, low, more int }

func (t tiling) cut(rows int) cut {
	count := (rows + t.tileRows - 1) / t.tileRows
	return cut{count, rows / count, rows % count}
}

// panel returns the first row of panel i and its height.
func (c cut) panel(i int) (at, rows int) {
	at = i*c.low + min(i, c.more)
	if i < c.more {
		return at, c.low + 1
	}
	return at, c.low
}

func (g *panels) packA(pa []float32, p0, kc, i0, mc int) {
	if kc == 0 {
		return
	}
	cut := g.cut(mc)
	for i := range cut.count {
		at, rows := cut.panel(i)
		if g.transA {
			packStraight(&pa[at*kc], rows, &g.a.Data[p0*g.a.Stride+i0+at], g.a.Stride, rows, kc)
			continue
		}
		for q := 0; q < rows; q += g.lanes {
			packTransposed(&pa[at*kc+q], rows, &g.a.Data[(i0+at+q)*g.a.Stride+p0], g.a.Stride, min(g.lanes, rows-q), kc)
		}
	}
}

func (g *panels) packB(pb []float32, p0, kc, j0, nc int) {
	if kc == 0 {
		return
	}
	for j := 0; j < nc; j += g.cols {
		dst, cols := pb[j*kc:(j+g.cols)*kc], min(g.cols, nc-j)
		if !g.transB {
			packStraight(&dst[0], g.cols, &g.b.Data[p0*g.b.Stride+j0+j], g.b.Stride, cols, kc)
			continue
		}
		if cols < g.cols {
			clear(dst)
		}
		for q := 0; q < cols; q += g.lanes {
			packTransposed(&dst[q], g.cols, &g.b.Data[(j0+j+q)*g.b.Stride+p0], g.b.Stride, min(g.lanes, cols-q), kc)
		}
	}
}

// block multiplies all panels of a by each panel of b, which stays in the L1 cache.
func (g *panels) block(mode int, pa, pb []float32, p0, kc, i0, mc, j0, nc int) {
	cut := g.cut(mc)
	var none float32
	for j := g.narrow(mode, pa, pb, kc, i0, mc, j0, nc); j < nc; j += g.cols {
		cols := min(g.cols, nc-j)
		for i := range cut.count {
			at, rows := cut.panel(i)
			a, b, bias, ldb := &none, &none, &none, g.cols
			if kc > 0 {
				a, b = &pa[at*kc], &pb[j*kc]
				if j < g.inPlace {
					b, ldb = &g.b.Data[p0*g.b.Stride+j0+j], g.b.Stride
				}
			}
			if g.turned {
				gemmTile(rows, kc, a, rows, b, g.cols, &g.tile[0], g.cols, g.cols, gemmSet, bias, b, 0, 0)
				g.scatter(mode, rows, g.cols, cols, i0+at, j0+j)
				continue
			}
			if mode == gemmBias {
				bias = &g.bias[i0+at]
			}
			ahead, stride, step := g.prefetch(b, kc)
			gemmTile(rows, kc, a, rows, b, ldb, &g.c.Data[(i0+at)*g.c.Stride+j0+j], g.c.Stride, cols, mode, bias, ahead, stride, step)
		}
	}
}

// prefetch returns the first row that a tile prefetches in its k steps, the distance of the rows,
// and the bytes per step. If none is left, it returns what is in the cache.
func (g *panels) prefetch(cached *float32, k int) (row *float32, stride, step int) {
	if len(g.ahead) == 0 {
		return cached, 0, 0
	}
	m := g.ahead[0]
	row = &m.Data[g.aheadRow*m.Stride]
	if g.aheadRow += max(1, k/aheadRow); g.aheadRow >= m.Rows {
		g.ahead, g.aheadRow = g.ahead[1:], 0
	}
	return row, m.Stride, 4 * m.Cols / aheadRow
}

// narrow multiplies a panel of a few rows of a by the panels of b, while there are enough of them
// for a call of gemmNarrow. It returns the first column that remains.
func (g *panels) narrow(mode int, pa, pb []float32, kc, i0, rows, j0, nc int) (j int) {
	if !g.turned || rows >= len(narrowPanels) || kc == 0 {
		return 0
	}
	width := g.cols * narrowPanels[rows]
	for ; j+width <= roundUp(nc, g.cols); j += width {
		gemmNarrow(rows, kc, &pa[0], &pb[j*kc], &g.tile[0], width)
		g.scatter(mode, rows, width, min(width, nc-j), i0, j0+j)
	}
	return j
}

// scatter stores a tile [rows][width] transposed, because its rows are columns of c.
func (g *panels) scatter(mode int, rows, width, cols, i, j int) {
	for r := range rows {
		sums := g.tile[r*width:][:cols]
		switch mode {
		case gemmBias:
			Add(sums, sums, g.bias[j:j+cols])
		case gemmAdd:
			for q, old := 0, g.c.Data[j*g.c.Stride+i+r:]; q < cols; q++ {
				sums[q] += old[q*g.c.Stride]
			}
		}
	}
	out := g.c.Data[j*g.c.Stride+i:]
	if g.c.Stride == 1 {
		copy(out, g.tile[:cols])
		return
	}
	for r := 0; r < rows; r += g.lanes {
		packTransposed(&out[r], g.c.Stride, &g.tile[r*width], width, min(g.lanes, rows-r), cols)
	}
}

// powerProduct needs no packing, since both factors have one row per term of a sum.
func powerProduct(k, anchors, table Matrix, scratch []float32) {
	if current() == generic || table.Rows == 0 {
		gemmGeneric(k, anchors, table, TransposeA, gemmSet, nil, scratch, k.Rows, k.Cols, table.Rows)
		return
	}
	if k.Rows == 0 || k.Cols == 0 {
		return
	}
	cut := tilingOf(current().lanes()).cut(k.Rows)
	for i := 0; i < cut.count; {
		at, rows := cut.panel(i)
		n := cut.count - i
		if i < cut.more { // these panels have a row more than the others
			n = cut.more - i
		}
		n = min(n, max(1, 32*longestRun/(rows*k.Cols*table.Rows)))
		powerTiles(n, rows, table.Rows, &anchors.Data[at], anchors.Stride, &table.Data[0], table.Stride, &k.Data[at*k.Stride], k.Stride, k.Cols)
		i += n
	}
}

func transpose(dst, x Matrix) {
	if current() == generic || x.Cols == 0 {
		transposeGeneric(dst, x)
		return
	}
	for i, lanes := 0, current().lanes(); i < x.Rows; i += lanes {
		packTransposed(&dst.Data[i], dst.Stride, &x.Data[i*x.Stride], x.Stride, min(lanes, x.Rows-i), x.Cols)
	}
}
