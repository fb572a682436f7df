package asm

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"

	"github.com/s4d-fast/s4d-fast/asm/internal/neon"
)

// branches are the conditional jumps. Both architectures compare signed numbers by the same flags.
var branches = map[string]string{
	"JMP": "B", "JE": "BEQ", "JZ": "BEQ", "JNE": "BNE", "JNZ": "BNE", "JL": "BLT", "JLE": "BLE", "JG": "BGT", "JGE": "BGE",
}

// shape returns the shape of single or double precision, from the last letter of an opcode.
func shape(opcode string) neon.Shape {
	if opcode[len(opcode)-1] == 'D' {
		return neon.D2
	}
	return neon.S4
}

// threes are d = b op a, the operands of amd64 being a, b, d.
var threes = map[string]string{
	"VADDPS": "FADD", "VSUBPS": "FSUB", "VMULPS": "FMUL", "VDIVPS": "FDIV", "VMAXPS": "FMAX", "VMINPS": "FMIN",
	opMaxNumberDouble: "FMAXNM",
	"VADDPD":          "FADD", "VSUBPD": "FSUB", "VMULPD": "FMUL", "VDIVPD": "FDIV", "VMAXPD": "FMAX",
}

// natives are d = b op a by instructions that Go's assembler knows.
var natives = map[string][2]string{
	"VPADDD": {"VADD", "S4"}, "VPADDQ": {"VADD", "D2"}, "VPSUBD": {"VSUB", "S4"},
	"VPAND": {"VAND", "B16"}, "VANDPS": {"VAND", "B16"}, "VANDPD": {"VAND", "B16"},
	"VPXOR": {"VEOR", "B16"}, "VXORPS": {"VEOR", "B16"},
	"VUNPCKLPS": {"VZIP1", "S4"}, "VUNPCKHPS": {"VZIP2", "S4"}, "VUNPCKLPD": {"VZIP1", "D2"}, "VUNPCKHPD": {"VZIP2", "D2"},
}

// shifts are d = a, shifted by a constant.
var shifts = map[string][2]string{
	"VPSLLD": {"VSHL", "S4"}, "VPSLLQ": {"VSHL", "D2"},
}

// fused describes the multiply-adds: which operands are multiplied (1, 2 and 3 count from the
// destination, as in amd64's manual), and the signs of product and summand.
var fused = map[string]struct {
	order           string
	product, addend int
}{
	"VFMADD231PS": {"231", 1, 1}, "VFMADD213PS": {"213", 1, 1}, "VFMADD231PD": {"231", 1, 1},
	"VFMSUB231PS": {"231", 1, -1}, "VFMSUB213PS": {"213", 1, -1},
	"VFNMADD231PS": {"231", -1, 1}, "VFNMADD231PD": {"231", -1, 1},
	"VFNMSUB213PS": {"213", -1, -1},
}

// instruction lowers one instruction.
func (l *lowering) instruction(i *ir.Instruction) {
	o := i.Operands
	if b, ok := branches[i.Opcode]; ok {
		l.op("%s %s", b, o[0].Asm())
		return
	}
	if op, ok := threes[i.Opcode]; ok {
		l.word(neon.Three(op, shape(i.Opcode), vector(o[2]), vector(o[1]), l.source(o[0])))
		return
	}
	if n, ok := natives[i.Opcode]; ok {
		l.op("%s V%d.%s, V%d.%s, V%d.%s", n[0], l.source(o[0]), n[1], vector(o[1]), n[1], vector(o[2]), n[1])
		return
	}
	if n, ok := shifts[i.Opcode]; ok {
		l.op("%s $%d, V%d.%s, V%d.%s", n[0], immediate(o[0]), vector(o[1]), n[1], vector(o[2]), n[1])
		return
	}
	if f, ok := fused[i.Opcode]; ok {
		l.fuse(shape(i.Opcode), f.order, f.product, f.addend, o)
		return
	}
	if !l.vectorMove(i.Opcode, o) && !l.vectorOther(i.Opcode, o) && !l.integerOp(i.Opcode, o) {
		panic(fmt.Sprintf("%s: no lowering of %s", l.fn.Name, i.Opcode))
	}
}

// fuse lowers d = ±x·y ± z. The summand is the destination, or is first moved to a scratch
// register.
func (l *lowering) fuse(s neon.Shape, order string, product, addend int, o []operand.Op) {
	third, second, d := l.source(o[0]), vector(o[1]), vector(o[2])
	x, y, z := second, third, d // 231
	if order == "213" {
		x, y, z = second, d, third
	}
	op := map[int]string{1: "FMLA", -1: "FMLS"}[product]
	if order == "231" {
		if addend < 0 { // ±x·y − d = −(∓x·y + d)
			op = map[int]string{1: "FMLS", -1: "FMLA"}[product]
		}
		l.word(neon.Three(op, s, d, x, y))
		if addend < 0 {
			l.word(neon.Two("FNEG", s, d, d))
		}
		return
	}
	const sum = scratchVec - 1
	if addend < 0 {
		l.word(neon.Two("FNEG", s, sum, z))
	} else {
		l.move(z, sum)
	}
	l.word(neon.Three(op, s, sum, x, y))
	l.move(sum, d)
}

// vectorMove lowers loads, stores, moves and broadcasts.
func (l *lowering) vectorMove(opcode string, o []operand.Op) bool {
	switch opcode {
	case "VMOVUPS", "VMOVAPS", "VMOVUPD", "VMOVAPD":
		l.whole("Q", o)
	case "VMOVSS":
		l.whole("S", o)
	case "VMOVSD":
		l.whole("D", o)
	case "VBROADCASTSS", "VPBROADCASTD":
		l.broadcast(o, "S", 4)
	case "VMOVDDUP", "VPBROADCASTQ":
		l.broadcast(o, "D", 8)
	case "VMOVHPD": // memory, a, d: a's lower half and the one from memory
		l.move(vector(o[1]), vector(o[2]))
		l.op("MOVD $%s, %s", l.memory(o[0].(operand.Mem)), scratchInt)
		l.op("VLD1 (%s), V%d.D[1]", scratchInt, vector(o[2]))
	case "PREFETCHT0":
		l.op("PRFM %s, PLDL1KEEP", l.memory(o[0].(operand.Mem)))
	case "VMOVD":
		l.op("FMOVS %s, F%d", integer(o[0]), vector(o[1]))
	case "VMOVQ":
		l.op("FMOVD %s, F%d", integer(o[0]), vector(o[1]))
	case opLoadFirst:
		l.loadFirst(integer(o[0]), o[1].(operand.Mem), vector(o[2]))
	case opStoreFirst:
		l.storeFirst(integer(o[0]), vector(o[1]), o[2].(operand.Mem))
	default:
		return false
	}
	return true
}

// same panics unless two operands are the same register.
func same(a, b operand.Op) {
	if number(a) != number(b) {
		panic("expected one register twice")
	}
}

// whole moves a vector or its lowest element.
func (l *lowering) whole(size string, o []operand.Op) {
	if len(o) != 2 {
		panic("expected a source and a destination")
	}
	if m, ok := o[0].(operand.Mem); ok {
		l.op("FMOV%s %s, F%d", size, l.memory(m), vector(o[1]))
	} else if m, ok := o[1].(operand.Mem); ok {
		to := l.memory(m)
		if at, ok := strings.CutPrefix(to, "0("); ok && size == "Q" { // faster than FMOVQ on some
			l.op("VST1 [V%d.S4], (%s", vector(o[0]), at)
			return
		}
		l.op("FMOV%s F%d, %s", size, vector(o[0]), to)
	} else {
		l.move(vector(o[0]), vector(o[1]))
	}
}

func (l *lowering) broadcast(o []operand.Op, element string, bytes int) {
	d := vector(o[1])
	from := d
	if m, ok := o[0].(operand.Mem); !ok {
		from = vector(o[0])
	} else if l.repeats(m, bytes) {
		l.op("FMOVQ %s, F%d", l.memory(m), d)
		return
	} else {
		l.op("FMOV%s %s, F%d", element, l.memory(m), d)
	}
	l.op("VDUP V%d.%s[0], V%d.%s%d", from, element, d, element, 16/bytes)
}

// vectorOther lowers the other arithmetic.
func (l *lowering) vectorOther(opcode string, o []operand.Op) bool {
	switch opcode {
	case opMulLane, opAddLane, opSubLane:
		l.word(neon.ByElement(opcode, vector(o[3]), vector(o[2]), vector(o[1]), immediate(o[0])))
	case "VSQRTPS":
		l.word(neon.Two("FSQRT", neon.S4, vector(o[1]), l.source(o[0])))
	case "VPSRAD":
		l.word(neon.ShiftRightSigned(neon.S4, vector(o[2]), vector(o[1]), immediate(o[0])))
	case "VPANDN": // a, b, d: d = a &^ b
		l.word(neon.AndNot(vector(o[2]), l.source(o[0]), vector(o[1])))
	case "VADDSD":
		l.op("FADDD F%d, F%d, F%d", vector(o[0]), vector(o[1]), vector(o[2]))
	case "VADDSS":
		l.op("FADDS F%d, F%d, F%d", vector(o[0]), vector(o[1]), vector(o[2]))
	case "VCVTPS2PD":
		l.word(neon.Widen(vector(o[1]), l.loaded(o[0], "FMOVD")))
	case "VCVTPD2PSX":
		l.word(neon.Narrow(false, vector(o[1]), vector(o[0])))
	case opNarrowUpper:
		l.word(neon.Narrow(true, vector(o[1]), vector(o[0])))
	case "VBLENDVPS", "VBLENDVPD": // mask, yes, no, d, by the sign of the mask
		s := shape(opcode)
		l.word(neon.ShiftRightSigned(s, scratchVec, vector(o[0]), 32<<s))
		l.op("VBSL V%d.B16, V%d.B16, V%d.B16", vector(o[2]), vector(o[1]), scratchVec)
		l.move(scratchVec, vector(o[3]))
	case "VCMPPS", "VCMPPD":
		l.compare(shape(opcode), immediate(o[0]), l.source(o[1]), vector(o[2]), vector(o[3]))
	case "VPCMPGTD": // a, b, d: b > a
		l.word(neon.Three("CMGT", neon.S4, vector(o[2]), vector(o[1]), l.source(o[0])))
	case "VZEROUPPER":
	default:
		return false
	}
	return true
}

// compare sets d to the result of comparing x with c. The negated predicate is true for NaN.
func (l *lowering) compare(s neon.Shape, predicate int, c, x, d neon.V) {
	switch predicate {
	case notBelow:
		l.word(neon.Three("FCMGT", s, d, c, x))
		l.word(neon.Not(d, d))
	case above:
		l.word(neon.Three("FCMGT", s, d, x, c))
	default:
		panic(fmt.Sprintf("no predicate %d", predicate))
	}
}

// integerOp lowers arithmetic on addresses, counters and flags. Sums and differences set the flags
// as on amd64; LEA does not.
func (l *lowering) integerOp(opcode string, o []operand.Op) bool {
	switch opcode {
	case "MOVQ", "MOVL":
		l.moveInteger(opcode, o[0], o[1])
	case "MOVLQSX":
		l.op("MOVW %s, %s", l.memory(o[0].(operand.Mem)), integer(o[1]))
	case "LEAQ":
		l.op("MOVD $%s, %s", l.memory(o[0].(operand.Mem)), integer(o[1]))
	case "ADDQ":
		l.op("ADDS %s, %s", l.integerSource(o[0]), integer(o[1]))
	case "SUBQ":
		l.op("SUBS %s, %s", l.integerSource(o[0]), integer(o[1]))
	case "INCQ":
		l.op("ADDS $1, %s", integer(o[0]))
	case "DECQ":
		l.op("SUBS $1, %s", integer(o[0]))
	case "CMPQ":
		l.op("CMP %s, %s", l.integerSource(o[1]), integer(o[0]))
	case "TESTQ":
		same(o[0], o[1])
		l.op("CMP $0, %s", integer(o[0]))
	case "XORQ":
		same(o[0], o[1])
		l.op("MOVD ZR, %s", integer(o[1]))
	case "SHLQ":
		l.op("LSL $%d, %s", immediate(o[0]), integer(o[1]))
	case "SHRQ":
		l.op("LSR $%d, %s", immediate(o[0]), integer(o[1]))
	case "ORL":
		l.op("ORR $%d, %s", immediate(o[0]), integer(o[1]))
	case "IMULQ":
		l.op("MUL %s, %s", l.integerSource(o[0]), integer(o[1]))
	case "IMUL3Q":
		number(o[1]) // not memory: there is only one register to load it to
		l.op("MOVD $%d, %s", immediate(o[0]), scratchInt)
		l.op("MUL %s, %s, %s", scratchInt, l.integerSource(o[1]), integer(o[2]))
	case "STMXCSR": // FPCR is the counterpart of MXCSR
		l.op("MOVD FPCR, %s", scratchInt)
		l.op("MOVW %s, %s", scratchInt, l.memory(o[0].(operand.Mem)))
	case "LDMXCSR":
		l.op("MOVWU %s, %s", l.memory(o[0].(operand.Mem)), scratchInt)
		l.op("MOVD %s, FPCR", scratchInt)
	case "RET":
		l.op("RET")
	default:
		return false
	}
	return true
}

func (l *lowering) moveInteger(opcode string, from, to operand.Op) {
	load, store := "MOVD", "MOVD"
	if opcode == "MOVL" {
		load, store = "MOVWU", "MOVW"
	}
	switch m, isMem := from.(operand.Mem); {
	case isMem:
		l.op("%s %s, %s", load, l.memory(m), integer(to))
	case !isInteger(from):
		l.op("MOVD $%d, %s", immediate(from), integer(to))
	case isInteger(to):
		l.op("%s %s, %s", load, integer(from), integer(to))
	default:
		l.op("%s %s, %s", store, integer(from), l.memory(to.(operand.Mem)))
	}
}

// integerSource returns an integer operand as arithmetic accepts it.
func (l *lowering) integerSource(op operand.Op) string {
	if m, ok := op.(operand.Mem); ok {
		l.op("MOVD %s, %s", l.memory(m), scratchInt)
		return scratchInt
	}
	if isInteger(op) {
		return integer(op)
	}
	return fmt.Sprintf("$%d", immediate(op))
}
