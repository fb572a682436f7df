package asm

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/operand"
	"golang.org/x/arch/arm64/arm64asm"
)

// arm64Lines returns the arm64 text of every family, line by line.
func arm64Lines(t *testing.T) (lines []string) {
	t.Helper()
	for _, fam := range families {
		lines = append(lines, strings.Split(string(generated(t, fam)[fam.name+"_arm64.s"]), "\n")...)
	}
	return lines
}

// Every WORD of the generated files decodes to the instruction in its comment.
func TestWords(t *testing.T) {
	word := regexp.MustCompile(`^\tWORD \$0x([0-9A-F]{8}) // (.+)$`)
	n := 0
	for _, line := range arm64Lines(t) {
		if !strings.Contains(line, "WORD") {
			continue
		}
		m := word.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%q", line)
			continue
		}
		v, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(v))
		i, err := arm64asm.Decode(b[:])
		if got := strings.ToUpper(arm64asm.GNUSyntax(i)); err != nil || got != m[2] {
			t.Errorf("%s is %q (%v)", line, got, err)
		}
		n++
	}
	if n < 1000 {
		t.Errorf("%d words in all", n)
	}
}

// Registers that Go reserves do not occur: R18 (platform), R27 (assembler), R28 (g), R29 (frame
// pointer) and R30 (link).
func TestReservedRegisters(t *testing.T) {
	reserved := regexp.MustCompile(`\b(R18|R18_PLATFORM|R27|REGTMP|R28|g|R29|R30|LR|RFP)\b`)
	for _, line := range arm64Lines(t) {
		code, _, _ := strings.Cut(line, "//")
		if strings.HasPrefix(code, "\t") && reserved.MatchString(code) {
			t.Errorf("%q", line)
		}
	}
}

// Instructions without a lowering and registers that lowering uses itself are rejected.
func TestLoweringRejects(t *testing.T) {
	for name, describe := range map[string]func(*gen){
		"one register twice": func(g *gen) { a, b := g.arg("x"), g.arg("x"); g.XORQ(a, b) },
		"is not a register": func(g *gen) {
			r := g.GP64()
			g.IMUL3Q(operand.Imm(3), operand.Mem{Base: g.arg("x")}, r)
		},
		"expected a source and a destination": func(g *gen) { v := g.zero(); g.VMOVSS(v, v, v) },
		"no lowering of VPMADDWD":             func(g *gen) { v := g.zero(); g.VPMADDWD(v, v, v) },
		"more than 30 vector registers": func(g *gen) {
			v := g.zeros(31)
			for _, x := range v[1:] {
				g.VADDPS(x, v[0], v[0])
			}
		},
	} {
		fam := family{"bad", func(f *file) { f.symbol(armNEON, "bad", "func(x *float32)", describe) }}
		if _, err := fam.output(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, expected one with %q", err, name)
		}
	}
}
