package asm

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var write = flag.Bool("write", false, "write internal/vek's generated files")

// The generated files equal the output of the generators, and there are no others.
func TestGenerated(t *testing.T) {
	var all []string
	for _, fam := range families {
		t.Run(fam.name, func(t *testing.T) {
			for name, want := range generated(t, fam) {
				all = append(all, name)
				compare(t, name, want)
			}
		})
	}
	if len(all) < 4*len(families) {
		return // -run selected some families
	}
	for _, pattern := range []string{"*_amd64.s", "*_amd64.go", "*_arm64.s", "*_arm64.go", "*_noasm.go"} {
		paths, err := filepath.Glob(filepath.Join(target, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(text), "// Code generated") && !slices.Contains(all, filepath.Base(path)) {
				t.Errorf("%s has no generator: delete it", path)
			}
		}
	}
}

var outputs = map[string]map[string][]byte{} // of families, by name

// generated returns the files of a family, which it generates once.
func generated(t *testing.T, fam family) map[string][]byte {
	t.Helper()
	if outputs[fam.name] == nil {
		files, err := fam.output()
		if err != nil {
			t.Fatal(err)
		}
		outputs[fam.name] = files
	}
	return outputs[fam.name]
}

// compare compares a file of internal/vek with what its generator writes, or writes it.
func compare(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(target, name)
	if *write {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Error(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from its generator's output (%v): run go generate ./internal/vek", path, err)
	}
}

// Each kernel has a comment that states its formula: of the plain Go function, or else of the
// exported one.
func TestFormula(t *testing.T) {
	f := &file{first: map[string]string{"sumgeneric": "s = Σ x", "sum": "Sum returns Σ x.", "dot": strings.Repeat("Σ x·y ", 20)}}
	if got := f.formula("sum"); !slices.Equal(got, []string{"s = Σ x"}) {
		t.Errorf("comment of sum: %q", got)
	}
	if got := f.formula("dot"); len(got) != 2 || utf8.RuneCountInString(got[0]) > 97 {
		t.Errorf("comment of dot: %q, expected two lines of at most 97 columns", got)
	}
	unknown := family{"unknown", func(f *file) { f.kernel("unknown", "func(x []float32)", func(*gen) {}) }}
	if _, err := unknown.output(); err == nil || !strings.Contains(err.Error(), "no comment states its formula") {
		t.Errorf("a kernel without a comment: error %v", err)
	}
}

// The coefficients of plain Go's polynomials are those that the fits return.
func TestGeneratedCoefficients(t *testing.T) {
	want, err := coefficientFile()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "coefficients.go", want)
}

// A kernel that uses an instruction outside its level is rejected.
func TestGate(t *testing.T) {
	if err := gate(avx2, []string{"AVX", "FMA3"}); err != nil {
		t.Error(err)
	}
	if err := gate(avx2, []string{"AVX512F"}); err == nil {
		t.Error("AVX512F is accepted at level AVX2")
	}
}
