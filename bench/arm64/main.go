// Command arm64 estimates the speed of the NEON kernels' hot loops without an arm64 processor:
//
//	go run ./bench/arm64
//
// It builds the kernels, finds each loop in their disassembly, and lets llvm-mca count its cycles
// on LLVM's models of processors. The limit is the number of cycles that the floating-point pipes
// allow. On Debian, install the tools with
//
//	apt-get install llvm-19
//
// It prints a Markdown table. bench/arm64.md contains one.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// processor is one of LLVM's scheduling models.
type processor struct {
	name  string
	pipes int // floating-point pipes of 128 bits
}

var processors = []processor{{"neoverse-n1", 2}, {"neoverse-n2", 2}, {"neoverse-v1", 4}, {"neoverse-v2", 4}}

// loop is an innermost loop of a kernel, chosen by its number or as the loop with the most
// floating-point instructions.
type loop struct {
	name, function string
	elements       int // elements per iteration
	unit           string
	number         int // in the order of the code, from 1; 0: the loop with the most floating-point instructions
}

var loops = []loop{
	{"GEMM, Vandermonde product", "gemmTile", 8 * 12, "multiply-add", 0},
	{"SSM step", "lookAhead", 8 * 4, "mode", 0},
	{"rank-one step (S4)", "rankOne", 4 * 4, "mode", 0},
	{"scan (S5, LRU)", "scanRows", 4 * 4, "mode", 0},
	{"scan, gradient", "scanGradRows", 4 * 4, "mode", 0},
	{"Cauchy sums (S4), four products of weights", "cauchySums", 2 * 2, "mode and node", 0},
	{"Cauchy sums, gradient, four products of weights", "cauchyGrad", 2, "mode and node", 0},
	{"FFT pass, radix 8 forward", "fftForward", 8 * 4, "complex number", 4},
	{"FFT pass, radix 8 inverse", "fftInverse", 8 * 4, "complex number", 9},
	{"FFT pass, radix 8 forward, second half of the input zero", "fftForwardHalf", 8 * 4, "complex number", 2},
	{"FFT pass, radix 8 inverse, first half of the output only", "fftInverseHalf", 8 * 4, "complex number", 2},
	{"FFT pass, radix 4 forward", "fftForward", 4 * 4, "complex number", 2},
	{"FFT pass, radix 4 inverse", "fftInverse", 4 * 4, "complex number", 7},
	{"FFT pass, radix 4 forward, second half of the input zero", "fftForwardHalf", 4 * 4, "complex number", 1},
	{"FFT pass, radix 4 inverse, first half of the output only", "fftInverseHalf", 4 * 4, "complex number", 1},
	{"FFT pass, radix 5 forward", "fftForward", 5 * 4, "complex number", 3},
	{"FFT pass, radix 3 forward", "fftForward", 3 * 4, "complex number", 1},
	{"FFT stage across lanes, forward", "fftForward", 4 * 16, "complex number", 0},
	{"product and FFT stage across lanes, inverse", "fftInverse", 4 * 16, "complex number", 0},
	{"Vandermonde factors", "powerRows", 8, "power", 0},
	{"GELU and slope", "geluSlope", 8, "element", 0},
	{"GELU (tanh form)", "geluTanh", 8, "element", 0},
	{"GELU (tanh form) and slope", "geluTanhSlope", 4, "element", 0},
	{"GLU", "glu", 8, "element", 0},
	{"complex exponential", "cexp", 8, "element", 0},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "arm64:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "arm64")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "kernels")
	build := exec.Command("go", "test", "-c", "-o", program, "github.com/s4d-fast/s4d-fast/internal/vek")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w: %s", err, out)
	}
	fmt.Print("| loop | elements per iteration | FP instructions |")
	for _, p := range processors {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Print("\n| --- | --- | ---:", strings.Repeat(" | ---:", len(processors)), " |\n")
	for _, l := range loops {
		text, err := disassemble(program, l.function)
		if err != nil {
			return err
		}
		body := l.choose(innermost(text))
		if body == nil {
			return fmt.Errorf("%s: loop %d not found", l.function, l.number)
		}
		fmt.Printf("| %s | %d × %s | %d |", l.name, l.elements, l.unit, arithmetic(body))
		for _, p := range processors {
			cycles, err := estimate(dir, body, p)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", l.function, p.name, err)
			}
			limit := float64(arithmetic(body)) / float64(p.pipes)
			fmt.Printf(" %.1f (%.0f %%) |", cycles, 100*limit/cycles)
		}
		fmt.Println()
	}
	return nil
}

// instruction is a line of the disassembly.
type instruction struct {
	address int64
	text    string
}

var line = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(.*?)(?:\s+<.*>)?$`)

// disassemble returns a kernel's instructions.
func disassemble(program, function string) ([]instruction, error) {
	symbol := "github.com/s4d-fast/s4d-fast/internal/vek." + function + "NEON.abi0"
	out, err := exec.Command("llvm-objdump-19", "-d", "--no-show-raw-insn", "--disassemble-symbols="+symbol, program).Output()
	if err != nil {
		return nil, fmt.Errorf("llvm-objdump-19: %w", err)
	}
	var all []instruction
	for l := range strings.Lines(string(out)) {
		m := line.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil {
			continue
		}
		address, err := strconv.ParseInt(m[1], 16, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, instruction{address, strings.TrimSpace(m[2])})
	}
	return all, nil
}

var back = regexp.MustCompile(`^b(?:\.[a-z]+)?\s+0x([0-9a-f]+)$`)

// choose returns the loop that l describes, or nil.
func (l loop) choose(all [][]string) (best []string) {
	for i, body := range all {
		if l.number == i+1 || l.number == 0 && arithmetic(body) > arithmetic(best) {
			best = body
		}
	}
	return best
}

// innermost returns the loops that contain no other loop.
func innermost(text []instruction) (all [][]string) {
	index := map[int64]int{}
	for i, in := range text {
		index[in.address] = i
	}
	last := -1 // start of the last loop that ended
	for i, in := range text {
		m := back.FindStringSubmatch(in.text)
		if m == nil {
			continue
		}
		target, err := strconv.ParseInt(m[1], 16, 64)
		begin, ok := index[target]
		if err != nil || !ok || begin > i || begin <= last {
			continue
		}
		last = begin
		body := []string{"loop:"}
		for _, in := range text[begin:i] {
			if back.MatchString(in.text) { // leaves the loop: not taken
				body = append(body, strings.Fields(in.text)[0]+" done")
				continue
			}
			body = append(body, in.text)
		}
		body = append(body, strings.Fields(in.text)[0]+" loop", "done:")
		all = append(all, body)
	}
	return all
}

var floating = regexp.MustCompile(`^f(?:add|sub|mul|mla|mls|neg|div|sqrt|max|min|maxnm|minnm|cmg[te]|cvtl2?|cvtn2?|abs)\b`)

// arithmetic counts floating-point instructions.
func arithmetic(body []string) int {
	n := 0
	for _, l := range body {
		if floating.MatchString(l) {
			n++
		}
	}
	return n
}

var total = regexp.MustCompile(`Total Cycles:\s+(\d+)`)

// estimate returns the cycles of an iteration, with data in the L1 cache.
func estimate(dir string, body []string, p processor) (float64, error) {
	const iterations = 500
	path := filepath.Join(dir, "loop.s")
	if err := os.WriteFile(path, []byte(strings.Join(body, "\n")+"\n"), 0o600); err != nil {
		return 0, err
	}
	out, err := exec.Command("llvm-mca-19", "-mtriple=aarch64", "-mcpu="+p.name, fmt.Sprintf("-iterations=%d", iterations), path).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("llvm-mca-19: %w: %s", err, out)
	}
	m := total.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("llvm-mca-19 counts no cycles: %s", out)
	}
	cycles, err := strconv.ParseFloat(string(m[1]), 64)
	return cycles / iterations, err
}
