package recurrent_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// BenchmarkLayer measures one layer's SSM in blocks. A sample is one position of all channels.
func BenchmarkLayer(b *testing.B) {
	cfg := bareConfig(128)
	cfg.Pool = model.PoolLast
	benchmarkProcess(b, "H=128/M=32", cfg, 64)
}

// deepConfig has six layers of H=128, M=32 with mixing.
func deepConfig() model.Config {
	cfg := baseConfig()
	cfg.DModel, cfg.SSM.DModel, cfg.SSM.DState, cfg.NLayers = 128, 128, 64, 6
	return cfg
}

// BenchmarkNetwork measures one stream by block size.
func BenchmarkNetwork(b *testing.B) {
	for _, n := range []int{1, 16, 64, 1024} {
		benchmarkProcess(b, "layers=6/H=128/M=32", deepConfig(), n)
	}
}

// BenchmarkStepMany measures the same network with one sample of each of many streams.
func BenchmarkStepMany(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		cfg := deepConfig()
		net := newNetwork(b, newModel(b, cfg, 1), 1)
		streams := make([]*recurrent.Stream, n)
		for i := range streams {
			streams[i] = net.NewStream()
		}
		x, dst := signal(1, cfg.DInput, n), make([]float32, cfg.DOutput*n)
		benchmark(b, fmt.Sprintf("layers=6/H=128/M=32/streams=%d", n), n, func() { net.StepMany(dst, x, streams) })
	}
}

// BenchmarkWindow measures a network whose mean looks back. The time per sample must not grow with
// the window.
func BenchmarkWindow(b *testing.B) {
	for _, window := range []int{16_000, 16_000_000} {
		cfg := bareConfig(128)
		cfg.Pool = model.PoolMean
		net := must.Get(recurrent.New(newModel(b, cfg, 1), recurrent.Options{Window: window}))(b)
		s, x := net.NewStream(), signal(1, cfg.DInput, 64)
		benchmark(b, fmt.Sprintf("H=128/M=32/window=%d", window), 64, func() { s.Process(x, 64) })
	}
}

func benchmarkProcess(b *testing.B, size string, cfg model.Config, n int) {
	s := newNetwork(b, newModel(b, cfg, 1), 1).NewStream()
	x := signal(1, cfg.DInput, n)
	benchmark(b, fmt.Sprintf("%s/n=%d", size, n), n, func() { s.Process(x, n) })
}

// benchmark times a call that takes n samples.
func benchmark(b *testing.B, size string, n int, call func()) {
	vektest.BenchEachLevel(b, size, func(b *testing.B) {
		for b.Loop() {
			call()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n)/1e3, "µs/sample")
	})
}
