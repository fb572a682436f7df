package asm

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of level amx, which split a float32 in two bfloat16 numbers: its upper half, rounded,
// and the rounded upper half of the rest. A tile of the matrix units has 16 rows of 16 words. A
// word is a pair of bfloat16 numbers whose positions in k differ by 16. A block is four tiles: the
// upper halves of 16 rows (or columns), their rests, and the same of the next 16.
const (
	tileBytes  = 16 * 64
	blockBytes = 4 * tileBytes

	sums, factorA, factorB = 0, 4, 6    // tile registers: four of c, and two of each factor
	tileLoad, tileStore    = 0x7b, 0x7a // TILELOADD, TILESTORED
)

// splitPairs: for each of count tiles, word j of row i is the pair of x[i·stride+j] and
// x[i·stride+pair+j]. The tile of their rests follows. The next tile begins at x[step], and a block
// later in dst.
func splitPairs(g *gen) { g.splitTiles(func(words []reg.VecVirtual) []reg.VecVirtual { return words }) }

// splitTurned is splitPairs with transposed tiles.
func splitTurned(g *gen) { g.splitTiles(g.transpose) }

func (g *gen) splitTiles(order func(words []reg.VecVirtual) []reg.VecVirtual) {
	dst, x, count, step := g.arg("dst"), g.arg("x"), g.arg("count"), g.stride("step")
	pair, stride := g.stride("pair"), g.stride("stride")
	half, upper := g.vec(), g.vec()
	g.VPBROADCASTD(g.repeated(1<<15), half)
	g.VPBROADCASTD(g.repeated(0xffff0000), upper)
	g.times(count, func() {
		for rest := range 2 {
			row, words := g.GP64(), g.vecs(16)
			g.MOVQ(x, row)
			for _, a := range words {
				b := g.vec()
				g.VMOVUPS(operand.Mem{Base: row}, a)
				g.VMOVUPS(operand.Mem{Base: row, Index: pair, Scale: 1}, b)
				g.ADDQ(stride, row)
				for _, v := range []reg.VecVirtual{a, b} {
					rounded := g.vec()
					if rest == 1 {
						g.VPADDD(v, half, rounded)
						g.VPANDD(rounded, upper, rounded)
						g.VSUBPS(rounded, v, v)
					}
					g.VPADDD(v, half, v)
				}
				g.VPSRLD(operand.Imm(16), a, a)
				g.VPTERNLOGD(operand.U8(0xf8), upper, b, a) // a or (b and upper)
			}
			for i, v := range order(words) {
				g.VMOVUPS(v, operand.Mem{Base: dst, Disp: tileBytes*rest + 64*i})
			}
		}
		g.ADDQ(operand.U32(blockBytes), dst)
		g.ADDQ(step, x)
	})
}

// splitProduct adds the products of k blocks of a and of b to 32×32 numbers at from, or to 0 if
// from is nil, and stores the sums in c. It does so for count squares of c beside each other, with
// the same blocks of a and further blocks of b. from2 leads from the left half of a square to the
// right one. Meanwhile it prefetches rows from ahead on, 4·aheadPieces cache lines each.
func splitProduct(g *gen) {
	const row, two = 0x10101010, 64<<16 | 64 // rows of four tiles, bytes in a row of two
	// Instructions as bytes take physical registers.
	line, a, b, c, from, half, ldc, ldfrom := reg.RBX, reg.RCX, reg.RDX, reg.RSI, reg.RDI, reg.R10, reg.R8, reg.R9
	g.LEAQ(g.table("tiles", []uint32{1, 0, 0, 0, two, two, two, two, 0, 0, 0, 0, row, row, 0, 0}), line)
	g.code([]operand.Op{line}, 0xc4, 0xe2, 0x78, 0x49, 0x03) // LDTILECFG
	g.MOVQ(operand.U32(64), line)
	for i, to := range []reg.Register{b, c, from, ldc, ldfrom} {
		g.Load(g.Param([]string{"b", "c", "from", "ldc", "ldfrom"}[i]), to)
	}
	g.SHLQ(operand.Imm(2), ldc)
	g.SHLQ(operand.Imm(2), ldfrom)
	from2, ahead, at, left := g.stride("from2"), g.arg("ahead"), g.arg("ahead"), g.arg("aheadPieces")
	// square moves the tiles of a square, which begins at start.
	square := func(opcode byte, start, stride reg.GPPhysical, right reg.Register) {
		for i := 0; i < 4; i += 2 {
			g.IMUL3Q(operand.Imm(uint64(8*i)), stride, half)
			g.ADDQ(start, half)
			g.tileMove(opcode, sums+i, half, stride, 0)
			g.ADDQ(right, half)
			g.tileMove(opcode, sums+i+1, half, stride, 0)
		}
	}
	g.times(g.arg("count"), func() {
		zero, ready := g.label("zero"), g.label("ready")
		g.TESTQ(from, from)
		g.JZ(operand.LabelRef(zero))
		square(tileLoad, from, ldfrom, from2)
		g.LEAQ(operand.Mem{Base: from, Index: from2, Scale: 2}, from)
		g.JMP(operand.LabelRef(ready))
		g.Label(zero)
		for i := range byte(4) {
			g.code(nil, 0xc4, 0xe2, 0x7b, 0x49, 0xc0|i<<3) // TILEZERO
		}
		g.Label(ready)
		g.Load(g.Param("a"), a)
		g.times(g.arg("k"), func() {
			for _, rest := range [3]struct{ a, b int }{{0, 0}, {0, 1}, {1, 0}} {
				for j := range 2 {
					g.tileMove(tileLoad, factorB+j, b, line, (2*j+rest.b)*tileBytes)
					for i := range 2 {
						if j == 0 && rest.b == 0 {
							g.tileMove(tileLoad, factorA+i, a, line, (2*i+rest.a)*tileBytes)
						}
						sum, vvvv := byte(sums+2*i+j), byte(15-factorB-j)
						g.code(nil, 0xc4, 0xe2, 0x02|vvvv<<3, 0x5c, 0xc0|sum<<3|byte(factorA+i)) // TDPBF16PS
					}
					if rest.a == 0 {
						g.prefetchPiece(ahead, at, left)
					}
				}
			}
			g.ADDQ(operand.U32(blockBytes), a)
			g.ADDQ(operand.U32(blockBytes), b)
		})
		square(tileStore, c, ldc, line)
		g.ADDQ(operand.U32(128), c)
	})
	g.code(nil, 0xc4, 0xe2, 0x78, 0x49, 0xc0) // TILERELEASE
}

// prefetchPiece prefetches four cache lines, and moves to the next row after a row's last ones.
func (g *gen) prefetchPiece(row, at, left reg.Register) {
	for i := range 4 {
		g.PREFETCHT1(operand.Mem{Base: at, Disp: 64 * i})
	}
	same := g.label("same")
	g.ADDQ(operand.U32(4*64), at)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(same))
	g.ADDQ(g.paramAddr("aheadStride"), row)
	g.MOVQ(row, at)
	g.MOVQ(g.paramAddr("aheadPieces"), left)
	g.Label(same)
}

// tileMove is an instruction with a tile and its memory.
func (g *gen) tileMove(opcode byte, tile int, base, stride reg.GPPhysical, disp int) {
	b, x, d := byte(base.PhysicalIndex()), byte(stride.PhysicalIndex()), uint32(disp)
	g.code([]operand.Op{base, stride}, 0xc4, 0xe2&^(x>>3<<6)&^(b>>3<<5), opcode, 0x4b, 0x84|byte(tile<<3), x&7<<3|b&7,
		byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
}

// code writes the bytes of an instruction that avo and Go's assembler do not know.
func (g *gen) code(inputs []operand.Op, code ...byte) {
	for _, b := range code {
		g.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}, Inputs: inputs})
	}
}
