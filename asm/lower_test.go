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
		files, err := fam.output()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(files[fam.name+"_arm64.s"]), "\n")...)
	}
	return lines
}

// Every WORD of the generated files is the instruction that its comment says.
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

// The registers that Go keeps do not occur: R18 is the platform's, R27 the assembler's, R28 is g, R29 and R30 are frame
// pointer and link.
func TestReservedRegisters(t *testing.T) {
	reserved := regexp.MustCompile(`\b(R18|R18_PLATFORM|R27|REGTMP|R28|g|R29|R30|LR|RFP)\b`)
	for _, line := range arm64Lines(t) {
		code, _, _ := strings.Cut(line, "//")
		if strings.HasPrefix(code, "\t") && reserved.MatchString(code) {
			t.Errorf("%q", line)
		}
	}
}

// Instructions without a lowering, and registers that lowering needs itself, are refused.
func TestLoweringRefuses(t *testing.T) {
	for name, describe := range map[string]func(*gen){
		"one register twice": func(g *gen) { a, b := g.arg("x"), g.arg("x"); g.XORQ(a, b) },
		"is no register": func(g *gen) {
			r := g.GP64()
			g.IMUL3Q(operand.Imm(3), operand.Mem{Base: g.arg("x")}, r)
		},
		"a source and a destination": func(g *gen) { v := g.zero(); g.VMOVSS(v, v, v) },
		"no lowering of VPMADDWD":    func(g *gen) { v := g.zero(); g.VPMADDWD(v, v, v) },
		"more vector registers": func(g *gen) {
			v := g.zeros(31)
			for _, x := range v[1:] {
				g.VADDPS(x, v[0], v[0])
			}
		},
	} {
		fam := family{"bad", func(f *file) { f.symbol(armNEON, "bad", "func(x *float32)", describe) }}
		if _, err := fam.output(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}
