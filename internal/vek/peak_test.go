package vek_test

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func TestFMAPeak(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, level vek.Level) {
		for rounds, want := range map[int]float32{0: 0, 1: 3, 2: 6, 100: 300} {
			sum, flops := vek.FMAPeak(rounds)
			lanes := map[vek.Level]float64{vek.Generic: 1, vek.AVX2: 8, vek.AVX512: 16, vek.NEON: 4}[level]
			chains := 12.0
			if level == vek.NEON {
				chains, want = 24, 2*want
			}
			must.Equal(t, sum, want, "%d rounds: sum", rounds)
			must.Equal(t, flops, 2*chains*lanes*float64(rounds), "%d rounds: operations", rounds)
		}
	})
}
