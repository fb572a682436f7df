package asm

import (
	"bytes"
	"flag"
	"math"
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

// The constants of plain Go are those of the generators.
func TestGeneratedConstants(t *testing.T) { compare(t, "constants.go", constantsFile()) }

// The polynomials have the errors that docs/maths.md §9.4 states.
func TestPolynomials(t *testing.T) {
	value := func(c []float64, x float64) (y float64) {
		for _, v := range slices.Backward(c) {
			y = y*x + v
		}
		return y
	}
	tail := func(a float64) float64 { return math.Erfc(a/math.Sqrt2) * math.Exp(a*a/2) }
	for name, p := range map[string]struct {
		lo, hi, bound float64
		err           func(x float64) float64
	}{
		"2^f": {-0.5, 0.5, 1.9e-9, func(x float64) float64 { return value(exp2Poly, x)/math.Exp2(x) - 1 }},
		"growth": {-math.Ln2 / 2, math.Ln2 / 2, 3.2e-9, func(x float64) float64 {
			return x*x*value(growthPoly, x) - (math.Expm1(x) - x)
		}},
		"sine": {0.01, math.Pi / 4, 3.6e-9, func(x float64) float64 { return 1 + x*x*value(sinPoly, x*x) - math.Sin(x)/x }},
		"cosine": {0, math.Pi / 4, 9.6e-11, func(x float64) float64 {
			return 1 - x*x/2 + x*x*x*x*value(cosPoly, x*x) - math.Cos(x)
		}},
		"R": {0, 11.5, 1.2e-8, func(a float64) float64 {
			q := value(tailQ, a)
			return q/(q+a*(float64(float32(sqrtHalfPi))*q+value(tailP, a)))/tail(a) - 1
		}},
	} {
		largest := 0.0
		for i := range 1001 {
			largest = max(largest, math.Abs(p.err(p.lo+(p.hi-p.lo)*float64(i)/1000)))
		}
		if largest > 1.03*p.bound || largest < 0.9*p.bound {
			t.Errorf("%s: largest error %.3g, expected %g", name, largest, p.bound)
		}
	}
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
