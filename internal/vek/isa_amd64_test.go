//go:build !purego

package vek_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The instructions that the kernels use, by objdump's names. All are part of AVX2, FMA3 or older
// extensions, or of AVX-512 F, DQ, BW or VL. Look a new one up in the processor's manual before you
// add it.
const (
	bothISA = "add and cmp dec imul inc int3 je jg jge jl jle jmp jne ldmxcsr lea mov movslq or pop prefetcht0 push ret " +
		"shl shr stmxcsr sub test vaddpd vaddps vaddsd vaddss vbroadcastsd vbroadcastss vcmpgtps " +
		"vcmpnltpd vcmpnltps vcvtpd2ps vcvtps2pd vdivpd vdivps vextractf128 vfmadd132ps vfmadd213pd vfmadd213ps " +
		"vfmadd231pd vfmadd231ps vfmsub213pd vfmsub213ps vfmsub231pd vfmsub231ps vfnmadd231pd vfnmadd231ps " +
		"vfnmsub213ps vinsertf128 vmaxpd vmaxps vminps vmovapd vmovaps vmovq vmovsd vmovss vmovupd vmovups " +
		"vmulpd vmulps vpaddd vpaddq vpbroadcastd vpbroadcastq vpslld vpsllq vpsrad vsqrtps " +
		"vsubpd vsubps vunpckhpd vunpckhps vunpcklpd vunpcklps vxorps vzeroupper xor "
	avx2ISA = "vandpd vandps vblendpd vblendvpd vblendvps vbroadcastf128 vextracti128 vmaskmovpd vmaskmovps vmovd " +
		"vpand vpandn vpcmpgtd vperm2f128 vpermpd vpermq vpmovsxdq vpsubd vpxor vshufps "
	avx512ISA = "kmovw kshiftrw vblendmpd vblendmps vbroadcastf32x4 vbroadcastf64x4 vextractf32x8 vextractf64x2 vextractf64x4 " +
		"vinsertf32x8 vinserti32x8 vmovdqu32 vpandd vpandnd vpcmpltd vpermi2pd vpmovqd vpternlogq vptestmd " +
		"vptestmq vpxord vscalefpd vscalefps vshuff32x4 "
)

// The machine code of a level has only instructions of that level. No instruction in an AVX2 symbol
// has an EVEX prefix.
func TestInstructionSets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and disassembles a binary")
	}
	allowed := map[string][]string{"AVX2": strings.Fields(bothISA + avx2ISA), "AVX512": strings.Fields(bothISA + avx512ISA)}
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
			if mnemonic, _, _ := strings.Cut(i.text, " "); !slices.Contains(allowed[level], mnemonic) {
				t.Errorf("%s: instruction %s is not in the list of its level", symbol, i.text)
			}
		}
	}
	if counts["AVX2"] == 0 || counts["AVX512"] == 0 {
		t.Errorf("functions found: %v", counts)
	}
}

// levelOf returns the level of a symbol's assembly, or "".
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

// disassembly returns the machine code by symbol of a test binary that it builds (go test strips
// the running one).
func disassembly(t *testing.T) map[string][]machineInstruction {
	t.Helper()
	give := t.Skipf
	if os.Getenv("S4D_REQUIRE_LEVELS") != "" {
		give = t.Fatalf
	}
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		give("objdump is not installed (it is part of binutils)")
	}
	binary := filepath.Join(t.TempDir(), "vek.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		give("cannot build the package: %v\n%s", err, out)
	}
	out := must.Get(exec.Command(objdump, "-d", "--insn-width=16", "--section=.text", binary).Output())(t)
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
