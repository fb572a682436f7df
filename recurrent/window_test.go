package recurrent_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// windowed prepares a network whose mean pool looks back.
func windowed(t *testing.T, m *model.Model, window int) *recurrent.Network {
	t.Helper()
	return must.Get(recurrent.New(m, recurrent.Options{Window: window}))(t)
}

// Once large samples have left the window, nothing of them is left in the mean: it has the bits of
// a stream that never saw them. A running sum that subtracts what leaves would keep a rest of them.
func TestWindowForgets(t *testing.T) {
	cfg := baseConfig()
	cfg.NLayers, cfg.Norm = 1, model.NormNone
	m := newModel(t, cfg, 3)
	for i := range m.Weights.Layers[0].Decay {
		m.Weights.Layers[0].Decay[i] = 20 // the state forgets a sample at once; the sums do not
	}
	net := windowed(t, m, 100)
	const length = 64 * 300
	x := signal(4, cfg.DInput, length)
	loud := slices.Clone(x)
	for i := range 64 * 150 {
		loud[i] *= 1e15
	}
	got, want := net.NewStream(), net.NewStream()
	for at := 0; at < length; at += 64 {
		a := got.Process(columns(loud, cfg.DInput, length, at, 64), 64)
		b := want.Process(columns(x, cfg.DInput, length, at, 64), 64)
		if at >= 64*152 && !slices.Equal(a, b) {
			t.Fatalf("%d blocks later: %v, expected %v", at/64-150, a, b)
		}
	}
}

// With a window, the output is the mean of the outputs per position since the block in which the
// window begins, since the decoder is linear. Neither cuts of the signal nor snapshots change a
// bit.
func TestWindow(t *testing.T) {
	cfg := baseConfig()
	m := newModel(t, cfg, 3)
	every := *m
	every.Config.Pool = model.PoolNone
	const length = 1000
	x, _ := input(cfg, 4, length)
	outputs := newNetwork(t, &every, 1).NewStream().Process(x, length) // [d_output][length]
	for _, window := range []int{1, 64, 100, 256, 5000} {
		net := windowed(t, m, window)
		s := net.NewStream()
		blocks := (window + 63) / 64
		for at := range length {
			got := s.Step(columns(x, cfg.DInput, length, at, 1))
			if at%37 != 0 && at%64 != 63 && at%64 != 0 {
				continue
			}
			n := at + 1
			from := max(0, n-n%64-64*blocks)
			for o, y := range got {
				want := 0.0
				for _, v := range outputs[o*length+from : o*length+n] {
					want += float64(v)
				}
				want /= float64(n - from)
				if math.Abs(float64(y)-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("window %d, after %d samples: %v, expected %v, the mean of %d", window, n, y, want, n-from)
				}
			}
		}
		last := fmt.Sprint(s.Step(columns(x, cfg.DInput, length, 0, 1)))
		other := net.NewStream()
		for at, n := range []int{1, 300, 63, 64, 500, 72} {
			start := []int{0, 1, 301, 364, 428, 928}[at]
			other.Process(columns(x, cfg.DInput, length, start, n), n)
			next := net.NewStream()
			must.Do(t, next.Restore(other.Snapshot(nil)))
			other = next
		}
		must.Equal(t, fmt.Sprint(other.Step(columns(x, cfg.DInput, length, 0, 1))), last, "window %d: output in pieces", window)
		other.Reset()
		fresh := net.NewStream()
		must.Equal(t, fmt.Sprint(other.Process(x, length)), fmt.Sprint(fresh.Process(x, length)), "window %d: output after Reset", window)
	}
	snapshot := windowed(t, m, 64).NewStream().Snapshot(nil)
	must.Fail(t, windowed(t, m, 65).NewStream().Restore(snapshot), "taken with a window of 1 blocks, this network has 2")
	must.Reject(recurrent.New(&every, recurrent.Options{Window: 5}))(t, `pool is "none"`)
	must.Reject(recurrent.New(m, recurrent.Options{Window: -5}))(t, "window -5")
}
