package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmNarrow: c[i][j] = Σ_p a[p·rows+i]·b[p][j] for up to three rows of c and several panels of b.
func gemmNarrow(g *gen) {
	rows, end := g.arg("rows"), g.label("end")
	for r := 1; r < len(narrowPanels); r++ {
		g.when(rows, r, "next", func() {
			g.narrow(r)
			g.JMP(operand.LabelRef(end))
		})
	}
	g.Label(end)
}

func (g *gen) narrow(rows int) {
	k, a := g.arg("k"), g.arg("a")
	vecs := tilingOf(g.lanes).vecs()
	panels := make([]reg.Register, narrowPanels[rows])
	panels[0] = g.arg("b")
	size := g.GP64()
	g.IMUL3Q(operand.U32(4*g.lanes*vecs), k, size)
	for i := 1; i < len(panels); i++ {
		panels[i] = g.GP64()
		g.MOVQ(panels[i-1], panels[i])
		g.ADDQ(size, panels[i])
	}
	wide := vecs * len(panels)
	acc := g.zeros(wide * rows)
	at := func(j int) operand.Mem {
		return operand.Mem{Base: panels[j/vecs], Disp: 4 * g.lanes * (j % vecs)}
	}
	g.times(k, func() {
		if g.neon() {
			bs := g.vecs(wide)
			for j, v := range bs {
				g.VMOVUPS(at(j), v)
			}
			g.tileProducts(rows, a, bs, acc)
		} else {
			xs, b := g.vecs(rows), g.vec()
			for r, x := range xs {
				g.VBROADCASTSS(operand.Mem{Base: a, Disp: 4 * r}, x)
			}
			for j := range wide {
				g.VMOVUPS(at(j), b)
				for r, x := range xs {
					g.VFMADD231PS(b, x, acc[wide*r+j])
				}
			}
		}
		g.ADDQ(operand.Imm(uint64(4*rows)), a)
		for _, b := range panels {
			g.ADDQ(operand.U32(4*g.lanes*vecs), b)
		}
	})
	c, ldc := g.arg("c"), g.stride("ldc")
	for r := range rows {
		for j, v := range acc[wide*r : wide*(r+1)] {
			g.VMOVUPS(v, operand.Mem{Base: c, Disp: 4 * g.lanes * j})
		}
		g.ADDQ(ldc, c)
	}
}
