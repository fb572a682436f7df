package asm

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// target is the directory of the package that the kernels belong to.
const target = "../internal/vek"

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

// The coefficients of plain Go's polynomials are those that the fits return, and its constants are
// those of the generators.
func TestGeneratedConstants(t *testing.T) {
	want, err := coefficientFile()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "coefficients.go", want)
	compare(t, "constants.go", constantsFile())
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
