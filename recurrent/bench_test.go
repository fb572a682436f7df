package recurrent_test

import (
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/model"
)

// BenchmarkLayer is one layer's SSM, H=128, M=32, in blocks; a sample is one position of all channels.
func BenchmarkLayer(b *testing.B) {
	cfg := bareConfig(128)
	cfg.Pool = model.PoolLast
	benchmark(b, cfg, 64)
}

// BenchmarkNetwork is six layers of H=128, M=32 with mixing, by block size.
func BenchmarkNetwork(b *testing.B) {
	for _, n := range []int{1, 16, 64, 1024} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			cfg := baseConfig()
			cfg.DModel, cfg.SSM.DModel, cfg.SSM.DState, cfg.NLayers = 128, 128, 64, 6
			benchmark(b, cfg, n)
		})
	}
}

func benchmark(b *testing.B, cfg model.Config, n int) {
	s := newNetwork(b, newModel(b, cfg, 1), 1).NewStream()
	x := signal(1, cfg.DInput, n)
	for b.Loop() {
		s.Process(x, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n)/1e3, "µs/sample")
}
