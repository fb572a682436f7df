package neon

import "fmt"

// V is the number of a vector register.
type V int

// Shape is the arrangement of elements in a vector register.
type Shape int

const (
	S4 Shape = iota // four float32
	D2              // two float64
)

// size is the bit that distinguishes double from single precision.
func (s Shape) size() uint32 { return uint32(s) << 22 }

func (s Shape) String() string { return [...]string{"4S", "2D"}[s] }

const full = 1 << 30 // all 128 bits

// Three registers: d = n op m.
var threeSame = map[string]uint32{
	"FADD": 0x0E20D400, "FSUB": 0x0EA0D400, "FMUL": 0x2E20DC00, "FDIV": 0x2E20FC00,
	"FMLA": 0x0E20CC00, "FMLS": 0x0EA0CC00,
	"FMAX": 0x0E20F400, "FMIN": 0x0EA0F400, "FMAXNM": 0x0E20C400,
	"FCMGT": 0x2EA0E400,

	"CMGT": 0x0EA03400, // of integers
}

// Two registers: d = op n.
var twoSame = map[string]uint32{
	"FNEG": 0x2EA0F800, "FSQRT": 0x2EA1F800,
}

// One element of the second source: d = d op n·m[i].
var byElement = map[string]uint32{"FMLA": 0x0F801000, "FMLS": 0x0F805000, "FMUL": 0x0F809000}

// Instruction is an encoding and its text in the syntax of Arm's manual, destination first.
type Instruction struct {
	word uint32
	text string
}

// String returns the instruction in the syntax of Go's assembler.
func (i Instruction) String() string { return fmt.Sprintf("WORD $0x%08X // %s", i.word, i.text) }

// Three encodes d = n op m.
func Three(op string, s Shape, d, n, m V) Instruction {
	base, ok := threeSame[op]
	if !ok {
		panic("neon: no three-register instruction " + op)
	}
	return Instruction{base | full | s.size() | uint32(m)<<16 | uint32(n)<<5 | uint32(d),
		fmt.Sprintf("%s V%d.%v, V%d.%v, V%d.%v", op, d, s, n, s, m, s)}
}

// Two encodes d = op n.
func Two(op string, s Shape, d, n V) Instruction {
	base, ok := twoSame[op]
	if !ok {
		panic("neon: no two-register instruction " + op)
	}
	return Instruction{base | full | s.size() | uint32(n)<<5 | uint32(d), fmt.Sprintf("%s V%d.%v, V%d.%v", op, d, s, n, s)}
}

// ByElement encodes d = d op n·m[i], or n·m[i] for FMUL, in single precision. The index is in bits
// H and L.
func ByElement(op string, d, n, m V, i int) Instruction {
	base, ok := byElement[op]
	if !ok || i < 0 || i >= 4 {
		panic(fmt.Sprintf("neon: no instruction %s with element %d", op, i))
	}
	h, l := uint32(i)>>1, uint32(i)&1
	return Instruction{base | full | l<<21 | uint32(m)<<16 | h<<11 | uint32(n)<<5 | uint32(d),
		fmt.Sprintf("%s V%d.4S, V%d.4S, V%d.S[%d]", op, d, n, m, i)}
}

// Widen converts the lower two float32 to float64.
func Widen(d, n V) Instruction {
	return Instruction{0x0E617800 | uint32(n)<<5 | uint32(d), fmt.Sprintf("FCVTL V%d.2D, V%d.2S", d, n)}
}

// Narrow converts two float64 to the lower (or upper) two float32.
func Narrow(upper bool, d, n V) Instruction {
	if upper {
		return Instruction{0x4E616800 | uint32(n)<<5 | uint32(d), fmt.Sprintf("FCVTN2 V%d.4S, V%d.2D", d, n)}
	}
	return Instruction{0x0E616800 | uint32(n)<<5 | uint32(d), fmt.Sprintf("FCVTN V%d.2S, V%d.2D", d, n)}
}

// ShiftRightSigned encodes d = n >> bits, element by element, filled with copies of the sign.
func ShiftRightSigned(s Shape, d, n V, bits int) Instruction {
	size := 32 << s
	if bits < 1 || bits > size {
		panic(fmt.Sprintf("neon: no shift of %v by %d", s, bits))
	}
	return Instruction{0x0F000400 | full | uint32(2*size-bits)<<16 | uint32(n)<<5 | uint32(d),
		fmt.Sprintf("SSHR V%d.%v, V%d.%v, #%d", d, s, n, s, bits)}
}

// Not encodes d = ^n, AndNot d = n &^ m.
func Not(d, n V) Instruction {
	return Instruction{0x2E205800 | full | uint32(n)<<5 | uint32(d), fmt.Sprintf("MVN V%d.16B, V%d.16B", d, n)}
}

func AndNot(d, n, m V) Instruction {
	return Instruction{0x0E601C00 | full | uint32(m)<<16 | uint32(n)<<5 | uint32(d), fmt.Sprintf("BIC V%d.16B, V%d.16B, V%d.16B", d, n, m)}
}
