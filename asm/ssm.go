package asm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ssm generates the step of diagonal systems. The states of the modes stay in registers for a block
// of samples; then the modes are summed for a vector of samples at a time.
func ssm(f *file) {
	f.part("ssmModes", "func(sums *float32, x *float32, xStride, samples, channels, modes int, "+
		"hRe, hIm, lamRe, lamIm, cRe, cIm *float32)", ssmModes)
	f.part("ssmModeSteps", "func(sums *float32, x *float32, xStride, samples, channels, modes int, "+
		"states *[]float32, at, im int, lamRe, lamIm, cRe, cIm *float32)", ssmModeSteps)
	f.part("sumLanes", "func(dst, rows *float32, n int)", sumLanes)
	f.part("ssmOutput", "func(y *float32, yStride int, x *float32, xStride int, sums, d *float32, channels, samples int)", ssmOutput)
}

// ssmModes: h = λ·h + x[t] for the states of [channels][modes], and sums[channel][t] is a vector
// whose lanes add up to Re Σ c·h. It takes two channels and two vectors of modes at a time: four
// chains hide the latency of the products. If the number of channels is odd, the rows of one more
// are written. Denormal results are 0.
func ssmModes(g *gen) {
	first := g.GP64()
	g.XORQ(first, first)
	g.ssmPairs(first, false)
}

// ssmModeSteps is ssmModes for one sample of each of several states [re, im][H][M]. Column i of x
// belongs to state i. at is the index of the first channel's first mode. im is the number of bytes
// from a state's real parts to its imaginary parts.
func ssmModeSteps(g *gen) { g.ssmPairs(g.arg("at"), true) }

// ssmPairs processes the channels in pairs. first is the index of the first channel's first mode.
// If many, there are several states (ssmModeSteps).
func (g *gen) ssmPairs(first reg.Register, many bool) {
	saved := g.flushDenormals()
	var kept operand.Mem
	if !g.manyRegisters() {
		kept = g.alignedLocal(4 * 2 * 2 * 4 * g.lanes)
	}
	left := g.arg("channels")
	sums, x := g.arg("sums"), g.arg("x")
	loop, done := g.label("channels"), g.label("done")
	g.Label(loop)
	g.TESTQ(left, left)
	g.JLE(operand.LabelRef(done))
	// An odd last channel is paired with itself.
	second, x1 := g.GP64(), g.GP64()
	g.MOVQ(first, second)
	g.MOVQ(x, x1)
	alone := g.label("alone")
	g.CMPQ(left, operand.Imm(1))
	g.JE(operand.LabelRef(alone))
	modes, stride := g.arg("modes"), g.stride("xStride")
	g.ADDQ(modes, second)
	g.ADDQ(stride, x1)
	g.Label(alone)
	g.ssmChannels(many, sums, [2]reg.Register{x, x1}, [2]reg.Register{first, second}, kept)

	rows := g.arg("samples")
	g.IMUL3Q(operand.U32(8*g.lanes), rows, rows)
	g.ADDQ(rows, sums)
	stride = g.stride("xStride")
	g.LEAQ(operand.Mem{Base: x, Index: stride, Scale: 2}, x)
	g.LEAQ(operand.Mem{Base: first, Index: g.arg("modes"), Scale: 2}, first)
	g.SUBQ(operand.Imm(2), left)
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
	g.LDMXCSR(saved)
}

// flushDenormals makes the processor flush denormal numbers to 0. It returns where the previous
// settings are saved.
func (g *gen) flushDenormals() (saved operand.Mem) {
	const flushToZero, denormalsAreZero = 1 << 15, 1 << 6
	bits := flushToZero | denormalsAreZero
	if g.neon() {
		bits = 1 << 24 // both
	}
	frame, r := g.AllocLocal(8), g.GP32()
	g.STMXCSR(frame)
	g.MOVL(frame, r)
	g.ORL(operand.U32(bits), r)
	g.MOVL(r, frame.Offset(4))
	g.LDMXCSR(frame.Offset(4))
	return frame
}

// ssmChannels runs two channels over the samples, two vectors of modes at a time.
func (g *gen) ssmChannels(many bool, sums reg.Register, x, at [2]reg.Register, kept operand.Mem) {
	n := g.arg("modes")
	index := [2]reg.Register{g.GP64(), g.GP64()}
	for c := range index {
		g.MOVQ(at[c], index[c])
	}
	g.ssmStrip(many, sums, x, index, n, kept, true)
	next, end := g.label("strips"), g.label("end")
	g.Label(next)
	g.SUBQ(operand.Imm(uint64(2*g.lanes)), n)
	g.JLE(operand.LabelRef(end))
	for _, i := range index {
		g.ADDQ(operand.Imm(uint64(2*g.lanes)), i)
	}
	g.ssmStrip(many, sums, x, index, n, kept, false)
	g.JMP(operand.LabelRef(next))
	g.Label(end)
}

// ssmStrip chooses the loop for the n remaining modes: two full vectors, or one or two under masks.
// AVX-512 always has masks, since they cost nothing there. In AVX2 a masked store takes as long as
// a dozen others on some processors.
func (g *gen) ssmStrip(many bool, sums reg.Register, x, index [2]reg.Register, n reg.Register, kept operand.Mem, first bool) {
	partial, narrow, end := g.label("partial"), g.label("narrow"), g.label("stripEnd")
	if !g.wide() {
		g.CMPQ(n, operand.Imm(uint64(2*g.lanes)))
		g.JL(operand.LabelRef(partial))
		g.ssmLoop(many, sums, x, index, nil, 2, kept, first)
		g.JMP(operand.LabelRef(end))
		g.Label(partial)
	}
	g.CMPQ(n, operand.Imm(uint64(g.lanes)))
	g.JLE(operand.LabelRef(narrow))
	g.ssmLoop(many, sums, x, index, n, 2, kept, first)
	g.JMP(operand.LabelRef(end))
	g.Label(narrow)
	g.ssmLoop(many, sums, x, index, n, 1, kept, first)
	g.Label(end)
}

// constant is a strip's vector of one parameter, in registers, or on the stack if there are too
// few. Modes past the last are 0.
type constant struct{ re, im operand.Op }

// ssmLoop runs up to vecs vectors of modes of two channels over the samples, h ← λ·h + x and s = Σ
// Re(c·h). The sums of the first strip are set, those of others added. n is the number of remaining
// modes, or nil if all vectors are full.
func (g *gen) ssmLoop(many bool, sums reg.Register, x, index [2]reg.Register, n reg.Register, vecs int, kept operand.Mem, first bool) {
	at := func(p reg.Register, c, v int) operand.Mem {
		return operand.Mem{Base: p, Index: index[c], Scale: 4, Disp: 4 * g.lanes * v}
	}
	masks := g.stripMasks(n, vecs)
	read := func(p reg.Register, put func(c, v int, r reg.VecVirtual)) {
		for c := range 2 {
			for v := range vecs {
				r := g.vec()
				if n == nil {
					g.VMOVUPS(at(p, c, v), r)
				} else {
					g.loadMasked(masks[v], at(p, c, v), r)
				}
				put(c, v, r)
			}
		}
	}
	place := func(r reg.VecVirtual) operand.Op {
		if g.manyRegisters() {
			return r
		}
		m := kept
		kept = kept.Offset(4 * g.lanes)
		g.VMOVUPS(r, m)
		return m
	}
	var lam, weight [2][2]constant // [channel][vector]
	read(g.arg("lamRe"), func(c, v int, r reg.VecVirtual) { lam[c][v].re = place(r) })
	read(g.arg("lamIm"), func(c, v int, r reg.VecVirtual) { lam[c][v].im = place(r) })
	read(g.arg("cRe"), func(c, v int, r reg.VecVirtual) { weight[c][v].re = place(r) })
	read(g.arg("cIm"), func(c, v int, r reg.VecVirtual) { weight[c][v].im = place(r) })
	var h [2][2]complexVec
	if !many {
		read(g.arg("hRe"), func(c, v int, r reg.VecVirtual) { h[c][v].re = r })
		read(g.arg("hIm"), func(c, v int, r reg.VecVirtual) { h[c][v].im = r })
	}

	rows, apart := g.GP64(), g.arg("samples")
	g.MOVQ(sums, rows)
	g.IMUL3Q(operand.U32(4*g.lanes), apart, apart)
	write := func(p reg.Register, part int) {
		for c := range 2 {
			for v := range vecs {
				if r := h[c][v].parts()[part]; n == nil {
					g.VMOVUPS(r, at(p, c, v))
				} else {
					g.storeMasked(masks[v], r, at(p, c, v))
				}
			}
		}
	}
	var table, state reg.Register
	if many {
		table, state = g.arg("states"), g.GP64()
	}
	loop := g.label("samples")
	g.Label(loop)
	if many {
		g.MOVQ(operand.Mem{Base: table}, state)
		read(state, func(c, v int, r reg.VecVirtual) { h[c][v].re = r })
		g.ADDQ(g.arg("im"), state)
		read(state, func(c, v int, r reg.VecVirtual) { h[c][v].im = r })
	}
	for c := range 2 {
		u, s := g.vec(), g.vec()
		g.VBROADCASTSS(operand.Mem{Base: x[c]}, u)
		for v := range vecs {
			g.ssmAdvance(h[c][v], lam[c][v], u)
			g.ssmSum(s, weight[c][v], h[c][v], v == 0)
		}
		row := operand.Mem{Base: rows}
		if c == 1 {
			row.Index, row.Scale = apart, 1
		}
		if !first {
			g.VADDPS(row, s, s)
		}
		g.VMOVUPS(s, row)
	}
	if many {
		write(state, 1)
		g.SUBQ(g.arg("im"), state)
		write(state, 0)
		g.ADDQ(operand.Imm(24), table) // the size of a slice header
	}
	g.ADDQ(operand.U32(4*g.lanes), rows)
	g.ADDQ(operand.Imm(4), x[0])
	g.ADDQ(operand.Imm(4), x[1])
	end := g.GP64()
	g.MOVQ(rows, end)
	g.SUBQ(sums, end)
	g.CMPQ(end, apart)
	g.JL(operand.LabelRef(loop))
	back := g.stride("samples")
	g.SUBQ(back, x[0])
	g.SUBQ(back, x[1])
	if !many {
		masks = g.stripMasks(n, vecs)
		write(g.arg("hRe"), 0)
		write(g.arg("hIm"), 1)
	}
}

// ssmAdvance sets h = λ·h + u for a real u.
func (g *gen) ssmAdvance(h complexVec, lam constant, u reg.VecVirtual) {
	turned := g.vec()
	g.VMULPS(lam.im, h.re, turned)
	if g.neon() { // the product replaces the summand
		g.VMULPS(lam.re, h.re, h.re)
		g.VFNMADD231PS(lam.im, h.im, h.re)
		g.VADDPS(u, h.re, h.re)
		g.VMULPS(lam.re, h.im, h.im)
		g.VADDPS(turned, h.im, h.im)
		return
	}
	g.VFMADD132PS(lam.re, u, h.re)
	g.VFNMADD231PS(lam.im, h.im, h.re)
	g.VFMADD132PS(lam.re, turned, h.im)
}

// ssmSum adds Re(c·h) to s, or sets s to it if it is the first term.
func (g *gen) ssmSum(s reg.VecVirtual, c constant, h complexVec, first bool) {
	if first {
		g.VMULPS(c.re, h.re, s)
	} else {
		g.VFMADD231PS(c.re, h.re, s)
	}
	g.VFNMADD231PS(c.im, h.im, s)
}

// stripMasks returns the masks of a strip of n modes, or none if n is nil.
func (g *gen) stripMasks(n reg.Register, vecs int) []mask {
	if n == nil {
		return nil
	}
	masks, rest := make([]mask, vecs), g.GP64()
	g.MOVQ(n, rest)
	for v := range masks {
		masks[v] = g.firstLanes(rest)
		g.SUBQ(operand.Imm(uint64(g.lanes)), rest)
	}
	return masks
}

// sumLanes: dst[i] = the sum of the lanes of rows[i], for n rounded up to whole vectors.
func sumLanes(g *gen) {
	dst, rows, n := g.arg("dst"), g.arg("rows"), g.arg("n")
	loop, done := g.label("loop"), g.label("done")
	g.Label(loop)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	g.VMOVUPS(g.sumRows(rows), operand.Mem{Base: dst})
	g.ADDQ(operand.U32(4*g.lanes*g.lanes), rows)
	g.ADDQ(operand.U32(4*g.lanes), dst)
	g.SUBQ(operand.U32(g.lanes), n)
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
}

// sumRows returns the sums of the lanes of as many vectors as a vector has lanes. The lanes are
// added in the same order for every vector.
func (g *gen) sumRows(rows reg.Register) reg.VecVirtual {
	quarters := make([]reg.VecVirtual, g.lanes/4)
	for q := range quarters {
		var pairs [2]reg.VecVirtual
		for i := range pairs {
			even, odd := g.vec(), operand.Mem{Base: rows, Disp: 4 * g.lanes * (4*q + 2*i + 1)}
			g.VMOVUPS(odd.Offset(-4*g.lanes), even)
			low, high := g.vec(), g.vec()
			g.VUNPCKLPS(odd, even, low)
			g.VUNPCKHPS(odd, even, high)
			g.VADDPS(high, low, low)
			pairs[i] = low
		}
		low, high := g.vec(), g.vec()
		g.VUNPCKLPD(pairs[1], pairs[0], low)
		g.VUNPCKHPD(pairs[1], pairs[0], high)
		g.VADDPS(high, low, low)
		quarters[q] = low
	}
	if g.neon() {
		return quarters[0]
	}
	fold := func(a, b reg.VecVirtual, low, high uint8) reg.VecVirtual {
		l, h := g.vec(), g.vec()
		if g.wide() {
			g.VSHUFF32X4(operand.U8(low), b, a, l)
			g.VSHUFF32X4(operand.U8(high), b, a, h)
		} else {
			g.VPERM2F128(operand.U8(low), b, a, l)
			g.VPERM2F128(operand.U8(high), b, a, h)
		}
		g.VADDPS(h, l, l)
		return l
	}
	if !g.wide() {
		return fold(quarters[0], quarters[1], 0x20, 0x31)
	}
	a, b := fold(quarters[0], quarters[1], 0x44, 0xEE), fold(quarters[2], quarters[3], 0x44, 0xEE)
	return fold(a, b, 0x88, 0xDD)
}

// ssmOutput: y = 2·sums + d·x for the samples of each channel. sums is [channels][samples]. The
// product d·x is rounded before the sum, as in plain Go.
func ssmOutput(g *gen) {
	y, x, sums, d := g.arg("y"), g.arg("x"), g.arg("sums"), g.arg("d")
	g.times(g.arg("channels"), func() {
		v := g.vec()
		g.VBROADCASTSS(operand.Mem{Base: d}, v)
		g.eachVec(g.arg("samples"), 2, func(r *run, u int) {
			s, in := r.load(sums, u), r.load(x, u)
			g.VADDPS(s, s, s)
			g.VMULPS(v, in, in)
			g.VADDPS(in, s, s)
			r.store(s, y, u)
		})
		g.ADDQ(g.stride("yStride"), y)
		g.ADDQ(g.stride("xStride"), x)
		g.ADDQ(g.stride("samples"), sums)
		g.ADDQ(operand.Imm(4), d)
	})
}
