package asm

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileSize returns the height of a tile and its width in vectors: the largest whose sums fit in a
// level's registers next to a row of b and elements of a.
func tileSize(l level) (rows, vecs int) {
	switch l.lanes {
	case 16:
		return 14, 2
	case 8:
		return 6, 2
	}
	return 8, 3
}

// gemm generates the product of two panels and the two ways to pack a panel.
func gemm(f *file) {
	f.part("gemmTile", "func(rows, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, cols, mode int, bias *float32)", gemmTile)
	f.part("powerTiles", "func(panels, rows, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, cols int)", powerTiles)
	f.part("gemmNarrow", "func(rows, k int, a, b, c *float32, ldc int)", gemmNarrow)
	f.part("packStraight", "func(dst *float32, width int, src *float32, stride, cols, k int)", packStraight)
	f.part("packTransposed", "func(dst *float32, width int, src *float32, stride, rows, k int)", packTransposed)
}

// gemmTile: c[i][j] = Σ_p a[p·lda+i]·b[p·ldb+j] over the width of the tile. The sums stay in
// registers from the first p to the last. Each height has two loops: one for the whole width, and
// one for a single vector of columns, which is enough at some edges of c.
func gemmTile(g *gen) {
	g.anyTile(true)
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
	g.anyTile(false)
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
	_, vecs := tileSize(g.level)
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

// anyTile computes a tile of any height: of its whole width, or of one vector of columns. Without
// modes, it stores the sums.
func (g *gen) anyTile(modes bool) {
	rows, end := g.arg("rows"), g.label("end")
	tallest, vecs := tileSize(g.level)
	cols, single := g.arg("cols"), g.label("single")
	g.CMPQ(cols, operand.Imm(uint64(g.lanes)))
	g.JLE(operand.LabelRef(single))
	g.heights(rows, tallest, vecs, end, modes)
	g.JMP(operand.LabelRef(end))
	g.Label(single)
	g.heights(rows, tallest, 1, end, modes)
	g.Label(end)
}

// heights generates a loop for each height of a tile, and the choice between them.
func (g *gen) heights(rows reg.Register, tallest, vecs int, end string, modes bool) {
	for r := tallest; r >= 1; r-- {
		next := g.label("next")
		g.CMPQ(rows, operand.Imm(uint64(r)))
		g.JNE(operand.LabelRef(next))
		g.tile(r, vecs, modes)
		g.JMP(operand.LabelRef(end))
		g.Label(next)
	}
}

func (g *gen) tile(rows, wide int, modes bool) {
	k, a, b, lda, ldb := g.arg("k"), g.arg("a"), g.arg("b"), g.stride("lda"), g.stride("ldb")
	acc := g.vecs(wide * rows)
	for _, v := range acc {
		g.clear(v)
	}
	bs := g.vecs(wide)
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(done))
	g.Label(loop)
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
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.finish(rows, acc, bs[0], modes)
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

// The modes of gemmTile: store the sums; add them to c; add one bias per row.
const (
	modeSet = iota
	modeAdd
	modeBias
)

// finish stores the sums. spare is a free register.
func (g *gen) finish(rows int, acc []reg.VecVirtual, spare reg.VecVirtual, modes bool) {
	var mode reg.Register
	if modes {
		mode = g.arg("mode")
	}
	c, ldc, cols := g.arg("c"), g.arg("ldc"), g.arg("cols")
	g.SHLQ(operand.Imm(2), ldc)
	wide := len(acc) / rows
	if modes {
		plain := g.label("plain")
		g.CMPQ(mode, operand.Imm(modeBias))
		g.JNE(operand.LabelRef(plain))
		bias := g.arg("bias")
		for r := range rows {
			g.VBROADCASTSS(operand.Mem{Base: bias, Disp: 4 * r}, spare)
			for _, v := range acc[wide*r : wide*(r+1)] {
				g.VADDPS(spare, v, v)
			}
		}
		g.Label(plain)
	}

	edge, end := g.label("edge"), g.label("end")
	g.CMPQ(cols, operand.Imm(uint64(wide*g.lanes)))
	g.JL(operand.LabelRef(edge))
	g.eachMode(mode, func(add bool) {
		row := g.GP64()
		g.MOVQ(c, row)
		for r := range rows {
			for j := range wide {
				v, at := acc[wide*r+j], operand.Mem{Base: row, Disp: 4 * g.lanes * j}
				if add {
					g.VADDPS(at, v, v)
				}
				g.VMOVUPS(v, at)
			}
			g.ADDQ(ldc, row)
		}
	})
	g.JMP(operand.LabelRef(end))
	g.Label(edge)
	masks := make([]mask, wide)
	for j := range masks {
		masks[j] = g.firstLanes(cols)
		g.SUBQ(operand.Imm(uint64(g.lanes)), cols)
	}
	g.eachMode(mode, func(add bool) {
		row := g.GP64()
		g.MOVQ(c, row)
		for r := range rows {
			for j, m := range masks {
				v, at := acc[wide*r+j], operand.Mem{Base: row, Disp: 4 * g.lanes * j}
				if add {
					g.loadMasked(m, at, spare)
					g.VADDPS(spare, v, v)
				}
				g.storeMasked(m, v, at)
			}
			g.ADDQ(ldc, row)
		}
	})
	g.Label(end)
}

// eachMode writes body for each mode, and the choice between them. Without a mode, it stores.
func (g *gen) eachMode(mode reg.Register, body func(add bool)) {
	if mode == nil {
		body(false)
		return
	}
	set, end := g.label("set"), g.label("end")
	g.CMPQ(mode, operand.Imm(modeAdd))
	g.JNE(operand.LabelRef(set))
	body(true)
	g.JMP(operand.LabelRef(end))
	g.Label(set)
	body(false)
	g.Label(end)
}

// packStraight: dst[p·width+j] = src[p·stride+j] for j < cols, and 0 for cols ≤ j < width. cols is
// at most a tile's width.
func packStraight(g *gen) {
	dst, src, k := g.arg("dst"), g.arg("src"), g.arg("k")
	width, stride, cols := g.arg("width"), g.arg("stride"), g.arg("cols")
	g.SHLQ(operand.Imm(2), stride)
	_, wide := tileSize(g.level)
	from, to := make([]mask, wide), make([]mask, wide)
	rest := g.GP64()
	g.MOVQ(width, rest)
	for j := range from {
		from[j], to[j] = g.firstLanes(cols), g.firstLanes(rest)
		g.SUBQ(operand.Imm(uint64(g.lanes)), cols)
		g.SUBQ(operand.Imm(uint64(g.lanes)), rest)
	}
	g.SHLQ(operand.Imm(2), width)
	// Full vectors need no masks, which AVX2 processors store slowly.
	full := g.label("full")
	g.TESTQ(cols, cols)
	g.JGE(operand.LabelRef(full))
	g.times(k, func() {
		v := g.vecs(wide)
		for j := range v {
			g.loadMasked(from[j], operand.Mem{Base: src, Disp: 4 * g.lanes * j}, v[j])
			g.storeMasked(to[j], v[j], operand.Mem{Base: dst, Disp: 4 * g.lanes * j})
		}
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
	})
	g.ret()
	g.Label(full)
	g.times(k, func() {
		v := g.vecs(wide)
		for j := range v {
			g.VMOVUPS(operand.Mem{Base: src, Disp: 4 * g.lanes * j}, v[j])
			g.VMOVUPS(v[j], operand.Mem{Base: dst, Disp: 4 * g.lanes * j})
		}
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
	})
}

// packTransposed: dst[p·width+i] = src[i·stride+p] for i < rows, at most the lanes of a vector.
// Lanes from rows on are not written. Square blocks are transposed in registers.
func packTransposed(g *gen) {
	dst, src, k := g.arg("dst"), g.arg("src"), g.arg("k")
	width, stride, rows := g.arg("width"), g.arg("stride"), g.arg("rows")
	floats := g.GP64()
	g.MOVQ(width, floats)
	g.SHLQ(operand.Imm(2), width)
	g.SHLQ(operand.Imm(2), stride)
	n := g.lanes
	store := g.firstLanes(rows)

	loop, tail, end := g.label("loop"), g.label("tail"), g.label("end")
	block := func(load func(src operand.Mem, dst reg.VecVirtual), put func(i int, v reg.VecVirtual)) {
		x := g.vecs(n)
		row, left, loaded := g.GP64(), g.GP64(), g.label("loaded")
		g.MOVQ(src, row)
		g.MOVQ(rows, left)
		for i := range x {
			g.clear(x[i])
		}
		for i := range x {
			load(operand.Mem{Base: row}, x[i])
			g.ADDQ(stride, row)
			g.DECQ(left)
			g.JZ(operand.LabelRef(loaded))
		}
		g.Label(loaded)
		for i, v := range g.transpose(x) {
			put(i, v)
		}
	}
	out := func(v reg.VecVirtual) {
		g.storeMasked(store, v, operand.Mem{Base: dst})
		g.ADDQ(width, dst)
	}
	load := func(src operand.Mem, dst reg.VecVirtual) { g.VMOVUPS(src, dst) }
	if !g.wide() {
		// No masks are needed while there are no lanes past rows, or later stores overwrite them.
		whole, least := g.label("whole"), g.GP64()
		g.XORQ(least, least)
		g.ADDQ(operand.Imm(uint64(n)), least)
		g.CMPQ(rows, operand.Imm(uint64(n)))
		g.JE(operand.LabelRef(whole))
		g.CMPQ(rows, floats)
		g.JNE(operand.LabelRef(loop))
		g.ADDQ(operand.Imm(uint64(n)), least)
		g.Label(whole)
		g.CMPQ(k, least)
		g.JL(operand.LabelRef(loop))
		block(load, func(_ int, v reg.VecVirtual) {
			g.VMOVUPS(v, operand.Mem{Base: dst})
			g.ADDQ(width, dst)
		})
		g.ADDQ(operand.Imm(uint64(4*n)), src)
		g.SUBQ(operand.Imm(uint64(n)), k)
		g.JMP(operand.LabelRef(whole))
	}
	g.Label(loop)
	g.CMPQ(k, operand.Imm(uint64(n)))
	g.JL(operand.LabelRef(tail))
	block(load, func(_ int, v reg.VecVirtual) { out(v) })
	g.ADDQ(operand.Imm(uint64(4*n)), src)
	g.SUBQ(operand.Imm(uint64(n)), k)
	g.JMP(operand.LabelRef(loop))
	g.Label(tail)
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(end))
	m := g.firstLanes(k)
	block(func(src operand.Mem, dst reg.VecVirtual) { g.loadMasked(m, src, dst) }, func(i int, v reg.VecVirtual) {
		out(v)
		g.DECQ(k)
		g.JZ(operand.LabelRef(end))
	})
	g.Label(end)
}

// transpose returns the transposed square of vectors. It exchanges floats, pairs of floats and then
// 128-bit quarters.
func (g *gen) transpose(x []reg.VecVirtual) []reg.VecVirtual {
	n := g.lanes
	if len(x) != n {
		panic(fmt.Sprintf("transpose: %d vectors of %d lanes", len(x), n))
	}
	t := make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 4 { // 4×4 blocks in each quarter
		ab0, ab1, cd0, cd1 := g.vec(), g.vec(), g.vec(), g.vec()
		g.VUNPCKLPS(x[i+1], x[i], ab0)
		g.VUNPCKHPS(x[i+1], x[i], ab1)
		g.VUNPCKLPS(x[i+3], x[i+2], cd0)
		g.VUNPCKHPS(x[i+3], x[i+2], cd1)
		for j := range 4 {
			t[i+j] = g.vec()
		}
		g.VUNPCKLPD(cd0, ab0, t[i])
		g.VUNPCKHPD(cd0, ab0, t[i+1])
		g.VUNPCKLPD(cd1, ab1, t[i+2])
		g.VUNPCKHPD(cd1, ab1, t[i+3])
	}
	if g.neon() {
		return t
	}
	y := make([]reg.VecVirtual, n)
	if !g.wide() {
		for j := range 4 { // t[j] and t[j+4] exchange halves
			y[j], y[j+4] = g.vec(), g.vec()
			g.VPERM2F128(operand.Imm(0x20), t[j+4], t[j], y[j])
			g.VPERM2F128(operand.Imm(0x31), t[j+4], t[j], y[j+4])
		}
		return y
	}
	for j := range 4 { // a 4×4 transposition of quarters
		lo0, hi0, lo1, hi1 := g.vec(), g.vec(), g.vec(), g.vec()
		g.VSHUFF32X4(operand.Imm(0x44), t[j+4], t[j], lo0)
		g.VSHUFF32X4(operand.Imm(0xEE), t[j+4], t[j], hi0)
		g.VSHUFF32X4(operand.Imm(0x44), t[j+12], t[j+8], lo1)
		g.VSHUFF32X4(operand.Imm(0xEE), t[j+12], t[j+8], hi1)
		for q := range 4 {
			y[j+4*q] = g.vec()
		}
		g.VSHUFF32X4(operand.Imm(0x88), lo1, lo0, y[j])
		g.VSHUFF32X4(operand.Imm(0xDD), lo1, lo0, y[j+4])
		g.VSHUFF32X4(operand.Imm(0x88), hi1, hi0, y[j+8])
		g.VSHUFF32X4(operand.Imm(0xDD), hi1, hi0, y[j+12])
	}
	return y
}
