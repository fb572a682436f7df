package asm

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The vocabulary for float64, of which a vector has half as many lanes.

// double returns a constant in memory: one float64 where instructions can broadcast it, else a
// vector.
func (g *gen) double(v float64) operand.Mem { return g.repeated64(math.Float64bits(v)) }

// repeated64 returns a bit pattern in memory, repeated for each lane of an AVX2 vector.
func (g *gen) repeated64(bits uint64) operand.Mem {
	low, high := uint32(bits), uint32(bits>>32)
	return g.table(fmt.Sprintf("x%016x", bits), []uint32{low, high, low, high, low, high, low, high})
}

// broadcastDouble returns a register full of v.
func (g *gen) broadcastDouble(v float64) reg.VecVirtual {
	return g.spreadDouble(g.double(v))
}

// spreadDouble returns a register full of a float64 in memory.
func (g *gen) spreadDouble(src operand.Mem) reg.VecVirtual {
	v := g.vec()
	if g.neon() {
		g.VMOVDDUP(src, v)
	} else {
		g.VBROADCASTSD(src, v)
	}
	return v
}

// mulAddDouble returns p·f + c; p is used up.
func (g *gen) mulAddDouble(p, f reg.VecVirtual, c float64) reg.VecVirtual {
	if g.neon() {
		sum := g.broadcastDouble(c)
		g.VFMADD231PD(f, p, sum)
		return sum
	}
	g.withConst(g.VFMADD213PD, g.VFMADD213PD_BCST, g.double(c), f, p)
	return p
}

// addMulDouble sets p = p + f·c.
func (g *gen) addMulDouble(p, f reg.VecVirtual, c float64) {
	g.withConst(g.VFMADD231PD, g.VFMADD231PD_BCST, g.double(c), f, p)
}

// mulDouble returns x·c.
func (g *gen) mulDouble(x reg.VecVirtual, c float64) reg.VecVirtual {
	y := g.vec()
	g.withConst(g.VMULPD, g.VMULPD_BCST, g.double(c), x, y)
	return y
}

// taylor returns Σ c_k·x^k, c given highest first.
func (g *gen) taylor(x reg.VecVirtual, c []float64) reg.VecVirtual {
	p := g.broadcastDouble(c[0])
	for _, v := range c[1:] {
		p = g.mulAddDouble(p, x, v)
	}
	return p
}

const magicDouble = 3 << 51 // x + magicDouble rounds x to an integer, |x| < 2⁵¹

// exponentialDouble returns exp(x) for |x| < 700, to about 1e-16: the Taylor series of x − n·ln 2,
// which is at most ln 2/2, with n added to the exponent.
func (g *gen) exponentialDouble(x reg.VecVirtual) reg.VecVirtual {
	const low = 1.9082149292705877e-10 // of ln 2. n·high is exact
	n, whole, r := g.broadcastDouble(magicDouble), g.vec(), x
	g.addMulDouble(n, x, math.Log2E)
	magic := g.broadcastDouble(magicDouble)
	g.VSUBPD(magic, n, whole)
	g.addMulDouble(r, whole, -(math.Ln2 - low))
	g.addMulDouble(r, whole, -low)
	square := g.vec()
	g.VMULPD(r, r, square)
	odd, even := factorials(13, 1), factorials(12, 1) // as long together as the chains of a rotation
	p := g.taylor(square, even)
	g.VFMADD231PD(r, g.taylor(square, odd), p)
	const least = magicDouble - 1<<50
	switch { // replaces a NaN in n, because its bits would change those of p
	case g.wide():
		g.VSCALEFPD(whole, p, p)
		return p
	case g.neon():
		g.custom(opMaxNumberDouble, replaced, g.broadcastDouble(least), n, n)
	default:
		g.VMAXPD(g.double(least), n, n)
	}
	g.VPSLLQ(operand.Imm(52), n, n)
	g.VPADDQ(n, p, p)
	return p
}

// factorials returns 1/n!, 1/(n−2)!, … down to 0! or 1!, every second one from the last multiplied
// by sign.
func factorials(n int, sign float64) (c []float64) {
	for ; n >= 0; n -= 2 {
		c = append(c, math.Pow(sign, float64(n/2))/math.Gamma(float64(n)+1))
	}
	return c
}

// rotation returns cos and sin of 2π·turns for |turns| < 2⁴⁹, to about 1e-16. The Taylor series are
// those of at most an eighth of a turn; the quarter decides which one is the cosine, and the signs.
func (g *gen) rotation(turns reg.VecVirtual) complexVec {
	n, r := g.broadcastDouble(magicDouble), g.mulDouble(turns, 4)
	g.VADDPD(r, n, n)
	whole, magic := g.vec(), g.broadcastDouble(magicDouble)
	g.VSUBPD(magic, n, whole)
	g.VSUBPD(whole, r, r)
	angle := g.mulDouble(r, math.Pi/2)
	square := g.vec()
	g.VMULPD(angle, angle, square)
	cos, sin := g.taylor(square, factorials(16, -1)), g.taylor(square, factorials(17, -1))
	g.VMULPD(angle, sin, sin)

	z := g.complexVec()
	if g.wide() {
		odd := g.K()
		g.VPTESTMQ_BCST(g.repeated64(1), n, odd)
		g.VBLENDMPD(sin, cos, odd, z.re)
		g.VBLENDMPD(cos, sin, odd, z.im)
	} else {
		odd := g.vec()
		g.VPSLLQ(operand.Imm(63), n, odd)
		g.VBLENDVPD(odd, sin, cos, z.re)
		g.VBLENDVPD(odd, cos, sin, z.im)
	}
	next, one := g.vec(), g.vec()
	g.VPBROADCASTQ(g.repeated64(1), one)
	g.VPADDQ(one, n, next) // cos(q + 1/4) = −sin: a quarter ahead
	g.VPSLLQ(operand.Imm(62), next, next)
	g.VPSLLQ(operand.Imm(62), n, n)
	sign := g.vec()
	g.VPBROADCASTQ(g.repeated64(1<<63), sign)
	g.flip(z.re, next, sign)
	g.flip(z.im, n, sign)
	return z
}

// compareDouble and keepDouble are compare and keep for float64.
func (g *gen) compareDouble(predicate uint8, x reg.VecVirtual, c float64) condition {
	if g.wide() {
		k := g.K()
		g.VCMPPD_BCST(operand.Imm(uint64(predicate)), g.double(c), x, k)
		return condition{k: k}
	}
	m := g.vec()
	g.VCMPPD(operand.Imm(uint64(predicate)), g.double(c), x, m)
	return condition{v: m}
}

func (g *gen) keepDouble(v reg.VecVirtual, c condition) {
	if g.wide() {
		g.VMOVAPD_Z(v, c.k, v)
		return
	}
	g.VANDPD(c.v, v, v)
}
