package level_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
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
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

func TestSet(t *testing.T) {
	before := level.Current()
	defer func() { must.Do(t, level.Set(before)) }()
	if levels := level.Levels(); levels[0] != "generic" || !slices.Contains(levels, before) {
		t.Fatalf("levels %q, expected generic first and %q", levels, before)
	}
	for _, name := range level.Levels() {
		must.Do(t, level.Set(name))
		must.Equal(t, level.Current(), name, "level in use")
		must.Equal(t, string(vek.CurrentLevel()), name, "level of the kernels")
		must.Do(t, level.Set(""))
		must.Equal(t, level.Current(), name, "level after an empty name")
	}
	must.Fail(t, level.Set("abacus"), level.ErrUnavailable, `level "abacus" is not available`, "expected one of")
}

// An S4D_LEVEL that is not available is an error of every public constructor that needs a level,
// until Set chooses another. The test starts its own binary again with the variable set.
func TestStartup(t *testing.T) {
	const inner = "S4D_TEST_STARTUP"
	switch os.Getenv(inner) {
	case "available":
		must.Equal(t, level.Current(), "generic", "level")
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
		must.Fail(t, level.Set(""), level.ErrUnavailable)
		must.Do(t, level.Set("generic"))
		for name, err := range constructors(t) {
			if err != nil {
				t.Errorf("%s after Set: %v", name, err)
			}
		}
		return
	}
	for name, mode := range map[string]string{"generic": "available", "abacus": "missing"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStartup$")
		cmd.Env = append(os.Environ(), "S4D_LEVEL="+name, inner+"="+mode)
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) {
			t.Skipf("this binary cannot start itself here: %v", err)
		} else if err != nil {
			t.Errorf("S4D_LEVEL=%s: %v\n%s", name, err, out)
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
		"level.Set":                level.Set(""), "vek.StartupErr": vek.StartupErr(), "recurrent.New": network, "recurrent.NewStream": stream,
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
	before := level.Current()
	var group sync.WaitGroup
	group.Go(func() {
		if err := level.Set(before); err != nil {
			t.Error(err)
		}
	})
	must.Equal(t, level.Current(), before, "level")
	group.Wait()
}
