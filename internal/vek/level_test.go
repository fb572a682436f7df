package vek_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// An S4D_LEVEL that is not available is an error of every public constructor that needs a level,
// until SetLevel chooses another. The test starts its own binary again with the variable set.
func TestStartup(t *testing.T) {
	const inner = "S4D_TEST_STARTUP"
	switch os.Getenv(inner) {
	case "available":
		must.Equal(t, vek.CurrentLevel(), vek.Generic, "level")
		for name, err := range constructors(t) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return
	case "missing":
		for name, err := range constructors(t) {
			if err == nil || !strings.Contains(err.Error(), `S4D_LEVEL: level "abacus"`) {
				t.Errorf("%s: error %v, expected one about S4D_LEVEL and its value", name, err)
			}
		}
		must.Do(t, vek.SetLevel(vek.Generic))
		for name, err := range constructors(t) {
			if err != nil {
				t.Errorf("%s after SetLevel: %v", name, err)
			}
		}
		return
	}
	for level, mode := range map[string]string{"generic": "available", "abacus": "missing"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStartup$")
		cmd.Env = append(os.Environ(), "S4D_LEVEL="+level, inner+"="+mode)
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) {
			t.Skipf("this binary cannot start itself here: %v", err)
		} else if err != nil {
			t.Errorf("S4D_LEVEL=%s: %v\n%s", level, err, out)
		}
	}
}

// constructors returns the error of each constructor that needs a level.
func constructors(t *testing.T) map[string]error {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	_, network := recurrent.New(m, recurrent.Options{})
	_, stream := recurrent.NewStream(m)
	_, recognizer := events.New(m, events.Defaults())
	_, resampler := audio.NewResampler(16000, 8000)
	net, convolution := convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: 16})
	if convolution == nil {
		net.Close()
	}
	_, transform := fftkernel.NewFFT(8)
	return map[string]error{
		"fftkernel.NewFFT":         transform,
		"fftkernel.NewConv":        recovered(func() { fftkernel.NewConv(8, 8, false) }),
		"fftkernel.NewVandermonde": recovered(func() { fftkernel.NewVandermonde(1, 8) }),
		"vek.StartupErr":           vek.StartupErr(), "recurrent.New": network, "recurrent.NewStream": stream,
		"bench.Options.Validate": bench.Options{Time: 1}.Validate(), "events.New": recognizer, "audio.NewResampler": resampler, "convmode.New": convolution,
	}
}

// recovered returns the error that f panics with, or nil.
func recovered(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// A program may choose a level in one goroutine and ask for it in another (go test -race).
func TestSetLevelConcurrently(t *testing.T) {
	level := vek.CurrentLevel()
	var group sync.WaitGroup
	group.Go(func() {
		if err := vek.SetLevel(level); err != nil {
			t.Error(err)
		}
	})
	must.Equal(t, vek.CurrentLevel(), level, "level")
	group.Wait()
}

func TestKernelsAllocateNothing(t *testing.T) {
	const n = 100
	r := generator(1)
	x, y, z, out, out2 := normals(r, n), normals(r, n), normals(r, n), make([]float32, n), make([]float32, n)
	a, b, c := matrix(r, 10, 10), matrix(r, 10, 10), matrix(r, 10, 10)
	s, block := newSystems(r, 1, 30), vek.MatrixOf(x, 1, n)
	scratch, states, positions := make([]float32, s.ScratchLen(n)), [][]float32{make([]float32, s.StateLen())}, make([]int64, 1)
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for name, call := range map[string]func(){
			"Add":                 func() { vek.Add(out, x, y) },
			"Axpy":                func() { vek.Axpy(out, 1, x) },
			"CExp":                func() { vek.CExp(out, out2, x, y) },
			"GELU":                func() { vek.GELU(out, x) },
			"GELUTanh":            func() { vek.GELUTanh(out, x) },
			"GLU":                 func() { vek.GLU(out, x, y) },
			"GLUGrad":             func() { vek.GLUGrad(out, out2, x, y, z) },
			"Sum":                 func() { out[0] = vek.Sum(x) },
			"Dot":                 func() { out[0] = vek.Dot(x, y) },
			"SoftmaxCrossEntropy": func() { out[0] = vek.SoftmaxCrossEntropy(out2, x, 3) },
			"AdamW":               func() { vek.AdamW(out, x, z, y, step3) },
			"LookAhead":           func() { s.Run(block, block, states, positions, scratch) },
			"LayerNorm":           func() { vek.LayerNorm(c, a, x[:10], y[:10], out, out2, 1) },
			"LayerNormGrad":       func() { vek.LayerNormGrad(c, a, b, x[:10], y[:10], z[:10], out[:10], out2[:10], scratch) },
		} {
			if allocs := testing.AllocsPerRun(10, call); allocs != 0 {
				t.Errorf("%s: %v allocations", name, allocs)
			}
		}
	})
}
