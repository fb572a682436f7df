package recurrent_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// together returns streams at different positions, each twice: one to be advanced with the others,
// one alone.
func together(net *recurrent.Network, x []float32, channels, n int) (many, alone []*recurrent.Stream) {
	for i := range n {
		for _, group := range []*[]*recurrent.Stream{&many, &alone} {
			s := net.NewStream()
			if before := i * 5 % 97; before > 0 {
				s.Process(x[:channels*before], before)
			}
			*group = append(*group, s)
		}
	}
	return many, alone
}

// sampled returns the variants that read samples.
func sampled() map[string]model.Config {
	v := variants()
	delete(v, "tokens")
	return v
}

// Streams that advance together have the outputs and states of streams that advance alone, bit for
// bit.
func TestStepMany(t *testing.T) {
	const steps = 3
	counts := []int{0, 1, 2, 64, 65, 97}
	if vektest.Emulated {
		counts = []int{0, 2, 17}
	}
	for name, cfg := range sampled() {
		t.Run(name, func(t *testing.T) {
			net := newNetwork(t, newModel(t, cfg, 1), 1)
			for _, n := range counts {
				x, _ := input(cfg, 2, 97)
				many, alone := together(net, x, cfg.DInput, n)
				dst := make([]float32, cfg.DOutput*n)
				for step := range steps {
					x, _ := input(cfg, uint64(3+step), n)
					net.StepMany(dst, x, many)
					for i, s := range alone {
						want := s.Step(columns(x, cfg.DInput, n, i, 1))
						if got := columns(dst, cfg.DOutput, n, i, 1); !slices.Equal(got, want) {
							t.Fatalf("stream %d of %d: %v, alone %v", i, n, got, want)
						}
					}
				}
				for i := range n {
					if string(many[i].Snapshot(nil)) != string(alone[i].Snapshot(nil)) {
						t.Fatalf("stream %d of %d: the state is not that of the stream alone", i, n)
					}
				}
			}
		})
	}
}

// positions returns the number of positions for which Process returns outputs, given n samples.
func positions(cfg model.Config, n int) int {
	if cfg.Pool == model.PoolNone {
		return n
	}
	return 1
}

// Blocks of streams that are processed together have the outputs and states of streams that are
// processed alone, bit for bit.
func TestProcessMany(t *testing.T) {
	for name, cfg := range sampled() {
		t.Run(name, func(t *testing.T) { testProcessMany(t, cfg, newNetwork(t, newModel(t, cfg, 1), 1)) })
	}
	for name, opt := range map[string]recurrent.Options{"window": {Window: 100}, "posteriors": {Normalize: true, Posterior: true}} {
		t.Run(name, func(t *testing.T) {
			cfg := baseConfig()
			testProcessMany(t, cfg, must.Get(recurrent.New(inUnit(t, cfg), opt))(t))
		})
	}
}

func testProcessMany(t *testing.T, cfg model.Config, net *recurrent.Network) {
	const streams = 23
	x, _ := input(cfg, 2, 97)
	many, alone := together(net, x, cfg.DInput, streams)
	lengths := []int{3, 1, 7, 40, 64, 100}
	if vektest.Emulated {
		lengths = []int{3, 40}
	}
	for _, n := range lengths {
		outputs := positions(cfg, n)
		dst := make([]float32, cfg.DOutput*streams*outputs)
		x, _ := input(cfg, uint64(n), streams*n)
		net.ProcessMany(dst, x, n, many)
		for i, s := range alone {
			want := s.Process(columns(x, cfg.DInput, streams*n, i*n, n), n)
			if got := columns(dst, cfg.DOutput, streams*outputs, i*outputs, outputs); !slices.Equal(got, want) {
				t.Fatalf("%d samples of stream %d: %v, alone %v", n, i, got, want)
			}
			if string(many[i].Snapshot(nil)) != string(s.Snapshot(nil)) {
				t.Fatalf("%d samples: the state of stream %d is not that of the stream alone", n, i)
			}
		}
	}
}

func TestProcessManyNoAllocation(t *testing.T) {
	const samples = 10
	for _, name := range []string{"pre-norm", "no norm"} {
		cfg := variants()[name]
		net := newNetwork(t, newModel(t, cfg, 1), 1)
		x, _ := input(cfg, 2, 100)
		many, _ := together(net, x, cfg.DInput, 100)
		dst := make([]float32, cfg.DOutput*100)
		blocks, _ := input(cfg, 3, 100*samples)
		outputs := make([]float32, cfg.DOutput*100*positions(cfg, samples))
		must.Equal(t, testing.AllocsPerRun(10, func() {
			net.StepMany(dst, x, many)
			net.ProcessMany(outputs, blocks, samples, many)
		}), 0, "%s: allocations", name)
	}
}

func TestStepManyMisuse(t *testing.T) {
	net := newNetwork(t, newModel(t, baseConfig(), 1), 1)
	text := newNetwork(t, newModel(t, variants()["tokens"], 1), 1)
	a, b, token := net.NewStream(), net.NewStream(), text.NewStream()
	x, dst := make([]float32, 4), make([]float32, 6)
	tests := []struct {
		call func()
		want string
	}{
		{func() { net.StepMany(dst, x[:3], []*recurrent.Stream{a, b}) }, "recurrent: x has 3 values, expected 4: 2 channels of 2 streams with 1 samples"},
		{func() { net.StepMany(dst[:5], x, []*recurrent.Stream{a, b}) }, "recurrent: dst has 5 values, expected 3 outputs at 2 positions"},
		{func() { net.ProcessMany(dst, x, 0, []*recurrent.Stream{a, b}) }, "recurrent: 0 samples, expected at least 1"},
		{func() { net.ProcessMany(dst, x, 2, []*recurrent.Stream{a, b}) }, "recurrent: x has 4 values, expected 8: 2 channels of 2 streams with 2 samples"},
		{func() { net.StepMany(dst, x, []*recurrent.Stream{a, token}) }, "recurrent: stream 1 is of another network"},
		{func() { net.StepMany(dst, x, []*recurrent.Stream{a, a}) }, "recurrent: streams 0 and 1 are the same stream"},
		{func() { text.StepMany(dst, x, []*recurrent.Stream{token, token}) }, "recurrent: samples for a network that reads tokens"},
	}
	for _, test := range tests {
		func() {
			defer func() {
				must.Equal(t, fmt.Sprint(recover()), test.want, "panic")
			}()
			test.call()
		}()
	}
	net.StepMany(dst, x, []*recurrent.Stream{a, b})
	must.Equal(t, a.Position(), 1, "position of a after one valid call")
	must.Equal(t, b.Position(), 1, "position of b after one valid call")
	must.Equal(t, token.Position(), 0, "position of token after no valid call")
}
