package vek_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

// TestStartup starts this test anew under values of S4D_LEVEL: an unavailable one is an error, not another level.
func TestStartup(t *testing.T) {
	const inner = "S4D_TEST_STARTUP"
	if want := os.Getenv(inner); want != "" {
		err := vek.StartupErr()
		if want == "ok" && (err != nil || vek.CurrentLevel() != vek.Generic) {
			t.Errorf("level %q, error %v", vek.CurrentLevel(), err)
		}
		if want == "error" && (err == nil || !strings.Contains(err.Error(), `"abacus"`)) {
			t.Errorf("error %v", err)
		}
		return
	}
	for level, want := range map[string]string{"generic": "ok", "abacus": "error"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStartup$")
		cmd.Env = append(os.Environ(), "S4D_LEVEL="+level, inner+"="+want)
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) {
			t.Skipf("this binary cannot start itself here: %v", err)
		} else if err != nil {
			t.Errorf("S4D_LEVEL=%s: %v\n%s", level, err, out)
		}
	}
}

func TestKernelsAllocateNothing(t *testing.T) {
	const n = 100
	r := generator(1)
	x, y, z, out, out2 := normals(r, n), normals(r, n), normals(r, n), make([]float32, n), make([]float32, n)
	a, b, c := matrix(r, 10, 10), matrix(r, 10, 10), matrix(r, 10, 10)
	scratch := make([]float32, vek.SSMScratch)
	s, block := newSystems(r, 1, 30), vek.Matrix{Data: x, Rows: 1, Cols: n, Stride: n}
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for name, call := range map[string]func(){
			"Add":                 func() { vek.Add(out, x, y) },
			"Axpy":                func() { vek.Axpy(out, 1, x) },
			"Exp":                 func() { vek.Exp(out, x) },
			"GELU":                func() { vek.GELU(out, x) },
			"GELUGrad":            func() { vek.GELUGrad(out, x, y) },
			"GLU":                 func() { vek.GLU(out, x, y) },
			"GLUGrad":             func() { vek.GLUGrad(out, out2, x, y, z) },
			"Sum":                 func() { out[0] = vek.Sum(x) },
			"Dot":                 func() { out[0] = vek.Dot(x, y) },
			"SoftmaxCrossEntropy": func() { out[0] = vek.SoftmaxCrossEntropy(out2, x, 3) },
			"AdamW":               func() { vek.AdamW(out, x, z, y, step3) },
			"SSMBlock":            func() { vek.SSMBlock(block, block, s.hRe, s.hIm, &s.SSM, scratch) },
			"LayerNorm":           func() { vek.LayerNorm(c, a, x[:10], y[:10], out, out2, 1) },
			"LayerNormGrad":       func() { vek.LayerNormGrad(c, a, b, x[:10], y[:10], z[:10], out[:10], out2[:10], scratch) },
		} {
			if allocs := testing.AllocsPerRun(10, call); allocs != 0 {
				t.Errorf("%s: %v allocations", name, allocs)
			}
		}
	})
}
