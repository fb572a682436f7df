package neon

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// Every encoding, with random registers, decodes to its text.
func TestEncodings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	v := func() V { return V(r.IntN(32)) }
	for range 50 {
		for _, s := range []Shape{S4, D2} {
			for op := range threeSame {
				check(t, Three(op, s, v(), v(), v()))
			}
			for op := range twoSame {
				check(t, Two(op, s, v(), v()))
			}
			for op := range byElement {
				check(t, ByElement(op, v(), v(), v(), r.IntN(4)))
			}
		}
		for _, s := range []Shape{S4, D2} {
			check(t, ShiftRightSigned(s, v(), v(), 1+r.IntN(32<<s)))
		}
		check(t, Not(v(), v()))
		check(t, AndNot(v(), v(), v()))
		check(t, Widen(v(), v()))
		for _, upper := range []bool{false, true} {
			check(t, Narrow(upper, v(), v()))
		}
	}
}

func check(t *testing.T, i Instruction) {
	t.Helper()
	got, err := decode(i.word)
	if err != nil || got != i.text {
		t.Errorf("%08X is %q (%v), expected %q", i.word, got, err, i.text)
	}
}

// decode returns an instruction in the syntax of Instruction's text.
func decode(word uint32) (string, error) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], word)
	i, err := arm64asm.Decode(b[:])
	return strings.ToUpper(arm64asm.GNUSyntax(i)), err
}
