package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vecs returns the width of a tile in vectors.
func (t tiling) vecs() int { return t.cols / t.lanes }

// gemm generates the product of two panels and the two ways to pack a panel.
//
// gemmTile: c[i][j] = Σ_p a[p·lda+i]·b[p·ldb+j] over the width of the tile. The sums stay in
// registers from the first p to the last. Each height has two loops: one for the whole width, and
// one for a single vector of columns, which is enough at some edges of c. On amd64, every aheadRow
// steps of p prefetch a row into the L2 cache, aheadStep bytes per step, from ahead on.
func gemm(f *file) {
	f.part("gemmTile", "func(rows, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, cols, mode int, bias, ahead *float32, aheadStride, aheadStep int)", func(g *gen) { g.anyTile(endByMode) })
	f.part("powerTiles", "func(panels, rows, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, cols int)", powerTiles)
	f.part("gemmNarrow", "func(rows, k int, a, b, c *float32, ldc int)", gemmNarrow)
	f.part("packStraight", "func(dst *float32, width int, src *float32, stride, cols, k int)", packStraight)
	f.part("packTransposed", "func(dst *float32, width int, src *float32, stride, rows, k int)", packTransposed)
	f.part("splitPairs", "func(dst, x *float32, pair, stride, step, count int)", splitPairs, avx512)
	f.part("splitTurned", "func(dst, x *float32, pair, stride, step, count int)", splitTurned, avx512)
	f.part("splitProduct", "func(count, k int, a, b, c *float32, ldc int, from *float32, ldfrom, from2 int, ahead *float32, aheadStride, aheadPieces int)", splitProduct, avx512)
}

// powerTiles: c[i][j] = Σ_p a[p·lda+i]·b[p·ldb+j] for panels of rows rows and all columns, with 0
// for denormal numbers. The treatment of denormal numbers is changed once per call, because each
// change takes about a tenth of the time of a tile (AVX2 on Granite Rapids).
func powerTiles(g *gen) {
	saved := g.flushDenormals()
	names := []string{"panels", "a", "c"}
	start := g.AllocLocal(8 * len(names))
	columns, panel := g.label("columns"), g.label("panel")
	set := func(name string, v reg.Register) { g.MOVQ(v, g.paramAddr(name)) }
	g.Label(columns)
	for i, name := range names {
		g.MOVQ(g.arg(name), start.Offset(8*i))
	}
	g.Label(panel)
	g.anyTile(endStore)
	rows, a, c, panels, next := g.stride("rows"), g.arg("a"), g.arg("c"), g.arg("panels"), g.label("next")
	g.DECQ(panels)
	g.JZ(operand.LabelRef(next))
	set("panels", panels)
	g.ADDQ(rows, a)
	set("a", a)
	ldc := g.arg("ldc")
	g.IMULQ(ldc, rows)
	g.ADDQ(rows, c)
	set("c", c)
	g.JMP(operand.LabelRef(panel))

	g.Label(next)
	vecs := tilingOf(g.lanes).vecs()
	width := uint64(vecs * g.lanes)
	end, cols, b := g.label("end"), g.arg("cols"), g.arg("b")
	g.SUBQ(operand.Imm(width), cols)
	g.JLE(operand.LabelRef(end))
	set("cols", cols)
	g.ADDQ(operand.U32(4*width), b)
	set("b", b)
	for i, name := range names {
		v := g.GP64()
		g.MOVQ(start.Offset(8*i), v)
		if name == "c" {
			g.ADDQ(operand.U32(4*width), v)
		}
		set(name, v)
	}
	g.JMP(operand.LabelRef(columns))
	g.Label(end)
	g.LDMXCSR(saved)
}

// ending says what a kernel does with the sums of a tile.
type ending int

const (
	endStore  ending = iota // stores them
	endByMode               // what the argument mode says: gemmSet, gemmAdd or gemmBias
)

// anyTile computes a tile of any height: of its whole width, or of one vector of columns.
func (g *gen) anyTile(e ending) {
	rows, end := g.arg("rows"), g.label("end")
	t := tilingOf(g.lanes)
	cols, single := g.arg("cols"), g.label("single")
	g.CMPQ(cols, operand.Imm(uint64(g.lanes)))
	g.JLE(operand.LabelRef(single))
	g.heights(rows, t.vecs(), end, e)
	g.JMP(operand.LabelRef(end))
	g.Label(single)
	g.heights(rows, 1, end, e)
	g.Label(end)
}

// heights generates a loop for each height of a tile, and the choice between them.
func (g *gen) heights(rows reg.Register, vecs int, end string, e ending) {
	for r := tilingOf(g.lanes).tileRows; r >= 1; r-- {
		g.when(rows, r, "next", func() {
			g.tile(r, vecs, e)
			g.JMP(operand.LabelRef(end))
		})
	}
}

// tile computes a tile of rows rows and wide vectors of columns.
func (g *gen) tile(rows, wide int, e ending) {
	k, a, b, lda, ldb := g.arg("k"), g.arg("a"), g.arg("b"), g.stride("lda"), g.stride("ldb")
	acc := g.zeros(wide * rows)
	bs := g.vecs(wide)
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(done))
	nextRow := func() {}
	if e == endByMode && !g.neon() {
		nextRow = g.prefetchRows(k, loop)
	} else {
		g.Label(loop)
	}
	for j, v := range bs {
		g.VMOVUPS(operand.Mem{Base: b, Disp: 4 * g.lanes * j}, v)
	}
	if g.neon() {
		g.tileProducts(rows, a, bs, acc)
	} else {
		x := g.vec()
		for r := range rows {
			g.VBROADCASTSS(operand.Mem{Base: a, Disp: 4 * r}, x)
			for j, v := range bs {
				g.VFMADD231PS(v, x, acc[wide*r+j])
			}
		}
	}
	g.ADDQ(lda, a)
	g.ADDQ(ldb, b)
	g.DECQ(k)
	nextRow()
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.finish(rows, acc, bs[0], e)
}

// prefetchRows begins a loop over k at the label. The function that it returns ends a step: it
// jumps to the label within a row of the prefetch, and moves to the next row at its end. Then the
// flags say whether k is 0.
func (g *gen) prefetchRows(k reg.Register, loop string) (end func()) {
	row, stride, step, at := g.arg("ahead"), g.stride("aheadStride"), g.arg("aheadStep"), g.GP64()
	g.MOVQ(row, at)
	g.Label(loop)
	g.PREFETCHT1(operand.Mem{Base: at})
	g.ADDQ(step, at)
	return func() {
		g.TESTQ(operand.U32(aheadRow-1), k)
		g.JNZ(operand.LabelRef(loop))
		g.ADDQ(stride, row)
		g.MOVQ(row, at)
		g.TESTQ(k, k)
	}
}

// tileProducts adds a column of a times a row of b, multiplying by a's elements.
func (g *gen) tileProducts(rows int, a reg.Register, bs, acc []reg.VecVirtual) {
	var x reg.VecVirtual
	element := 0
	for r := range rows {
		at := operand.Mem{Base: a, Disp: 4 * r}
		switch left := rows - r; { // reads nothing past the column
		case r%4 == 0 && left >= 4:
			x, element = g.vec(), 0
			g.VMOVUPS(at, x)
		case r%4 == 0 && left >= 2:
			x, element = g.vec(), 0
			g.VMOVSD(at, x)
		case r%4 == 0 || r%4 == 2 && left == 1:
			x, element = g.vec(), 0
			g.VMOVSS(at, x)
		}
		for j, v := range bs {
			g.lane(opAddLane, element, x, v, acc[len(bs)*r+j])
		}
		element++
	}
}

// finish ends a tile. acc has the sums, row by row. The number of columns may be less than the
// width of acc, which takes masks. spare is overwritten: the tallest tile leaves few registers.
func (g *gen) finish(rows int, acc []reg.VecVirtual, spare reg.VecVirtual, e ending) {
	var mode reg.Register // nil: only store
	if e == endByMode {
		mode = g.arg("mode")
	}
	c, ldc, cols := g.arg("c"), g.arg("ldc"), g.arg("cols")
	g.SHLQ(operand.Imm(2), ldc)
	if e == endByMode {
		g.addBias(mode, rows, acc, spare)
	}
	wide := len(acc) / rows
	store := func(runs []*run) {
		if e == endStore {
			g.storeTile(c, ldc, acc, runs, gemmSet)
			return
		}
		set, end := g.label("set"), g.label("end")
		g.CMPQ(mode, operand.Imm(gemmAdd))
		g.JNE(operand.LabelRef(set))
		g.storeTile(c, ldc, acc, runs, gemmAdd)
		g.JMP(operand.LabelRef(end))
		g.Label(set)
		g.storeTile(c, ldc, acc, runs, gemmSet)
		g.Label(end)
	}
	edge, end := g.label("edge"), g.label("end")
	g.CMPQ(cols, operand.Imm(uint64(wide*g.lanes)))
	g.JL(operand.LabelRef(edge))
	store(g.whole(wide))
	g.JMP(operand.LabelRef(end))
	g.Label(edge)
	edges := g.partial(cols, wide)
	for _, r := range edges {
		r.spare = spare
	}
	store(edges)
	g.Label(end)
}

// addBias adds one bias per row to the sums if mode is gemmBias.
func (g *gen) addBias(mode reg.Register, rows int, acc []reg.VecVirtual, spare reg.VecVirtual) {
	g.when(mode, gemmBias, "plain", func() {
		bias := g.arg("bias")
		wide := len(acc) / rows
		for r := range rows {
			g.VBROADCASTSS(operand.Mem{Base: bias, Disp: 4 * r}, spare)
			for _, v := range acc[wide*r : wide*(r+1)] {
				g.VADDPS(spare, v, v)
			}
		}
	})
}

// storeTile stores the sums in acc to the rows of c, len(runs) vectors each. If mode is gemmAdd, it
// adds c first.
func (g *gen) storeTile(c, ldc reg.Register, acc []reg.VecVirtual, runs []*run, mode int) {
	row := g.GP64()
	g.MOVQ(c, row)
	for ; len(acc) > 0; acc = acc[len(runs):] {
		for j, r := range runs {
			at := operand.Mem{Base: row, Disp: 4 * g.lanes * j}
			if mode == gemmAdd {
				r.add(at, acc[j])
			}
			r.put(acc[j], at)
		}
		g.ADDQ(ldc, row)
	}
}
