package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// embed generates the products with one-hot columns, as squares of 8 tokens by 8 channels that are
// transposed in registers. The shuffles are as fast on 256 bits as on 512, so AVX-512 uses those of
// AVX2.
func embed(f *file) {
	f.kernel("embed", "func(x []float32, xStride int, table []float32, tableStride int, ids []int32, channels int)",
		func(g *gen) {
			x, step, entry := g.ptr("x"), g.stride("xStride"), g.entries()
			g.squares(x, step, func(row func(int) operand.Mem, h reg.Register) {
				if g.neon() {
					for i := range 4 {
						channels, tokens := 4*(i/2), 4*(i%2)
						for c, v := range g.square4(func(t int) operand.Mem {
							return operand.Mem{Base: entry[tokens+t], Index: h, Scale: 4, Disp: 4 * channels}
						}) {
							g.VMOVUPS(v, row(channels+c).Offset(4*tokens))
						}
					}
					return
				}
				for i, v := range g.transpose8(func(t, half int) operand.Mem {
					return operand.Mem{Base: entry[t], Index: h, Scale: 4, Disp: 16 * half}
				}) {
					g.VMOVUPS(v, row(i))
				}
			})
		})
	f.kernel("embedGrad", "func(table []float32, tableStride int, x []float32, xStride int, ids []int32, channels int)",
		func(g *gen) {
			x, step, entry := g.ptr("x"), g.stride("xStride"), g.entries()
			g.squares(x, step, func(row func(int) operand.Mem, h reg.Register) {
				if g.neon() {
					for i := range 4 {
						channels, tokens := 4*(i/2), 4*(i%2)
						for t, v := range g.square4(func(c int) operand.Mem { return row(channels + c).Offset(4 * tokens) }) {
							at := operand.Mem{Base: entry[tokens+t], Index: h, Scale: 4, Disp: 4 * channels}
							g.VADDPS(at, v, v)
							g.VMOVUPS(v, at)
						}
					}
					return
				}
				for t, v := range g.transpose8(func(i, half int) operand.Mem { return row(i).Offset(16 * half) }) {
					at := operand.Mem{Base: entry[t], Index: h, Scale: 4} // in order: tokens may be equal
					g.VADDPS(at, v, v)
					g.VMOVUPS(v, at)
				}
			})
		})
}

// entries returns the addresses of eight tokens' rows of the table.
func (g *gen) entries() []reg.Register {
	table, step, ids := g.ptr("table"), g.stride("tableStride"), g.ptr("ids")
	entry := make([]reg.Register, 8)
	for t := range entry {
		entry[t] = g.GP64()
		g.MOVLQSX(operand.Mem{Base: ids, Disp: 4 * t}, entry[t])
		g.IMULQ(step, entry[t])
		g.ADDQ(table, entry[t])
	}
	return entry
}

// squares runs body for every eight channels from h on. row(i) is the i-th of their rows in x.
func (g *gen) squares(x, step reg.Register, body func(row func(int) operand.Mem, h reg.Register)) {
	lower, step3, h := g.GP64(), g.GP64(), g.GP64()
	g.LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, step3)
	g.XORQ(h, h)
	loop, done, channels := g.label("loop"), g.label("done"), operand.Mem(g.paramAddr("channels"))
	g.Label(loop)
	g.CMPQ(h, channels)
	g.JGE(operand.LabelRef(done))
	g.LEAQ(operand.Mem{Base: x, Index: step, Scale: 4}, lower)
	body(func(i int) operand.Mem {
		return below(operand.Mem{Base: []reg.Register{x, lower}[i/4]}, step, step3, i%4)
	}, h)
	g.LEAQ(operand.Mem{Base: x, Index: step, Scale: 8}, x)
	g.ADDQ(operand.Imm(8), h)
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
}

// square4 returns the columns of a 4×4 square whose row i is at(i).
func (g *gen) square4(at func(i int) operand.Mem) [4]reg.VecVirtual {
	var rows [4]reg.VecVirtual
	for i := range rows {
		rows[i] = g.fetch(at(i))
	}
	return g.transposeQuarters(rows)
}

// transpose8 returns the columns of an 8×8 square. The two halves of row i are at(i, 0) and at(i,
// 1).
func (g *gen) transpose8(at func(i, half int) operand.Mem) []reg.VecVirtual {
	columns := make([]reg.VecVirtual, 8)
	for half := range 2 {
		rows, mixed := make([]reg.VecVirtual, 4), make([]reg.VecVirtual, 4)
		for i := range rows {
			rows[i] = g.YMM()
			g.VMOVUPS(at(i, half), rows[i].AsX())
			g.VINSERTF128(operand.Imm(1), at(i+4, half), rows[i], rows[i])
		}
		for i := range 2 {
			mixed[2*i], mixed[2*i+1] = g.YMM(), rows[2*i]
			g.VUNPCKLPS(rows[2*i+1], rows[2*i], mixed[2*i])
			g.VUNPCKHPS(rows[2*i+1], rows[2*i], mixed[2*i+1])
		}
		for i := range 2 {
			low, high := g.YMM(), mixed[2+i]
			g.VUNPCKLPD(mixed[2+i], mixed[i], low)
			g.VUNPCKHPD(mixed[2+i], mixed[i], high)
			columns[4*half+2*i], columns[4*half+2*i+1] = low, high
		}
	}
	return columns
}
