package asm

import (
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
