//go:build !purego

package vek_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beyond lists what a level does not promise though its vectors look the same: BMI, and the later parts of AVX-512.
var beyond = []string{
	"andn", "bextr", "blsi", "blsr", "bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx", "tzcnt", "lzcnt",
	"vpmadd52luq", "vpmadd52huq", "vpermb", "vpermi2b", "vpermt2b", "vpmultishiftqb", "vpcompressb", "vpcompressw",
	"vpexpandb", "vpexpandw", "vpshldvd", "vpshrdvd", "vpdpbusd", "vpdpwssd", "vpopcntb", "vpopcntw", "vpopcntd",
	"vpopcntq", "vpshufbitqmb", "vplzcntd", "vplzcntq", "vpconflictd", "vpconflictq", "vexp2ps", "vrcp28ps",
	"vrsqrt28ps", "vdpbf16ps", "vcvtneps2bf16", "vfmadd231ph", "vaddph", "vmulph",
}

// The machine code of a level holds only instructions that the level promises, whatever generated it: nothing in an AVX2
// symbol has an EVEX prefix, nothing at either level is one of the later extensions.
func TestInstructionSets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and disassembles a binary")
	}
	counts := map[string]int{}
	for symbol, code := range disassembly(t) {
		level := levelOf(symbol)
		if level == "" {
			continue
		}
		counts[level]++
		for _, i := range code {
			if level == "AVX2" && i.first == "62" {
				t.Errorf("%s: AVX-512 instruction %s", symbol, i.text)
			}
			if mnemonic, _, _ := strings.Cut(i.text, " "); slices.Contains(beyond, mnemonic) {
				t.Errorf("%s: %s is not part of the level", symbol, i.text)
			}
		}
	}
	if counts["AVX2"] == 0 || counts["AVX512"] == 0 {
		t.Errorf("functions found: %v", counts)
	}
}

// levelOf returns the level whose assembly a symbol is, or "".
func levelOf(symbol string) string {
	name, ours := strings.CutPrefix(strings.TrimSuffix(symbol, ".abi0"), "github.com/s4d-fast/s4d-fast/internal/vek.")
	for _, l := range []string{"AVX2", "AVX512"} {
		if ours && strings.HasSuffix(name, l) {
			return l
		}
	}
	return ""
}

// machineInstruction is one line of a disassembly.
type machineInstruction struct {
	first string // byte, in hexadecimal
	text  string
}

// disassembly returns the machine code of a test binary of this package by symbol (go test strips the running one).
func disassembly(t *testing.T) map[string][]machineInstruction {
	t.Helper()
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("no objdump here; it comes with binutils")
	}
	binary := filepath.Join(t.TempDir(), "vek.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Skipf("this machine cannot build the package: %v\n%s", err, out)
	}
	out, err := exec.Command(objdump, "-d", "--insn-width=16", "--section=.text", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	code, symbol := map[string][]machineInstruction{}, ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutSuffix(line, ">:"); ok {
			symbol = name[strings.LastIndexByte(name, '<')+1:]
		}
		fields := strings.Split(line, "\t") // address, bytes, instruction
		if len(fields) == 3 && levelOf(symbol) != "" {
			first, _, _ := strings.Cut(strings.TrimSpace(fields[1]), " ")
			code[symbol] = append(code[symbol], machineInstruction{first, fields[2]})
		}
	}
	return code
}
