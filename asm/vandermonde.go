package asm

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vandermonde generates the kernels that fill the factors of a Vandermonde product and sum its
// gradient, in float64. The product itself is that of gemm.
func vandermonde(f *file) {
	f.elementwise("complexPowers", "func(re, im []float64, log []complex128, l float64)", (*gen).complexPowers)
	f.kernel("powerRows", "func(re, im []float32, stride, cols int, w, log []complex128, l, lIm float64)", (*gen).powerRows)
	f.kernel("powerColumns", "func(re, im []float32, stride, rows int, lamRe, lamIm []float64)", (*gen).powerColumns)
	f.kernel("powerSums", "func(sumRe, sumIm []float64, re, im []float32, reStride, imStride, rows int, lamRe, lamIm []float64)",
		(*gen).powerSums)
	f.kernel("mulIndex", "func(dst, x []float32, first float32)", mulIndex)
}

// Powers below e⁻¹⁵⁰ are 0.
const powerMin = -150

// complexPowers: re + i·im = exp(l·log).
func (g *gen) complexPowers() {
	re, im := g.ptr("re"), g.ptr("im")
	l := g.spreadDouble(g.paramAddr("l"))
	g.eachGroup(g.length("re"), func(at, n reg.Register) {
		z := g.complexPower(g.loadInterleaved("log", at, n), l, l)
		twice := g.GP64()
		g.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1}, twice)
		m := g.firstLanes(twice)
		g.storeMasked(m, z.re, operand.Mem{Base: re, Index: at, Scale: 8})
		g.storeMasked(m, z.im, operand.Mem{Base: im, Index: at, Scale: 8})
	})
}

// eachGroup runs body for groups of as many numbers as a vector has float64s. at is the first of a
// group, and n the number of those from at on.
func (g *gen) eachGroup(n reg.Register, body func(at, n reg.Register)) {
	at, group, end := g.GP64(), g.label("group"), g.label("end")
	g.XORQ(at, at)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(end))
	g.Label(group)
	body(at, n)
	g.ADDQ(operand.Imm(uint64(g.lanes/2)), at)
	g.SUBQ(operand.Imm(uint64(g.lanes/2)), n)
	g.JG(operand.LabelRef(group))
	g.Label(end)
}

// loadInterleaved loads the complex numbers from at on, n or as many as a vector holds, as real and
// imaginary parts.
func (g *gen) loadInterleaved(name string, at, n reg.Register) complexVec {
	p, floats := g.ptr(name), g.GP64()
	offset := g.GP64()
	g.MOVQ(at, offset)
	g.SHLQ(operand.Imm(4), offset)
	g.ADDQ(offset, p)
	g.MOVQ(n, floats)
	g.SHLQ(operand.Imm(2), floats)
	a, b := g.vec(), g.vec()
	g.loadMasked(g.firstLanes(floats), operand.Mem{Base: p}, a)
	g.SUBQ(operand.Imm(uint64(g.lanes)), floats)
	g.loadMasked(g.firstLanes(floats), operand.Mem{Base: p, Disp: 4 * g.lanes}, b)
	z := g.complexVec()
	if g.wide() {
		for odd, dst := range z.parts() {
			index := make([]uint32, 16) // each of 64 bits
			for i := range 8 {
				index[2*i] = uint32(2*i + odd) // of 16: those of b follow those of a
			}
			g.VMOVUPD(g.table([]string{"even", "odd"}[odd], index), dst)
			g.VPERMI2PD(b, a, dst)
		}
		return z
	}
	g.VUNPCKLPD(b, a, z.re)
	g.VUNPCKHPD(b, a, z.im)
	if !g.neon() {
		g.VPERMPD(operand.Imm(0xd8), z.re, z.re)
		g.VPERMPD(operand.Imm(0xd8), z.im, z.im)
	}
	return z
}

// complexPower returns exp(l·log.re + i·lIm·log.im). log is used up.
func (g *gen) complexPower(log complexVec, l, lIm reg.VecVirtual) complexVec {
	decay, turns := log.re, g.mulDouble(log.im, 1/(2*math.Pi))
	g.VMULPD(l, decay, decay)
	g.VMULPD(lIm, turns, turns)
	live := g.compareDouble(notBelow, decay, powerMin)
	floor := g.broadcastDouble(powerMin)
	g.VMAXPD(decay, floor, decay)
	size := g.exponentialDouble(decay)
	g.keepDouble(size, live)
	z := g.rotation(turns)
	g.mulRealDouble(z, size)
	return z
}

// mulIndex: dst[l] = (first + l)·x[l].
func mulIndex(g *gen) {
	lanes := make([]uint32, 16)
	for i := range lanes {
		lanes[i] = math.Float32bits(float32(i))
	}
	index, step := g.vec(), g.broadcast(float64(g.lanes))
	g.VBROADCASTSS(g.paramAddr("first"), index)
	g.VADDPS(g.table("indices", lanes), index, index)
	dst, x := g.ptr("dst"), g.ptr("x")
	g.eachVec(g.length("dst"), 2, func(r *run, u int) {
		v := r.load(x, u)
		g.VMULPS(index, v, v)
		r.store(v, dst, u)
		g.VADDPS(step, index, index)
	})
}
