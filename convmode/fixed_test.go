package convmode

import (
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
)

// Kept kernels give the bits of newly computed ones in every network, for any order of lengths and
// levels.
func TestFixed(t *testing.T) {
	for _, w := range networks {
		if testing.Short() && w.length > 500 {
			continue
		}
		c := w.config()
		m := newModel(t, c)
		o := Options{MaxBatch: w.size, MaxLen: w.length, Workers: 2, StepScale: w.stepScale}
		recomputed := newNet(t, m, o)
		o.Fixed = true
		kept := newNet(t, m, o)
		short := max(1, w.length/3)
		compare := func(b Batch) {
			t.Helper()
			sameBits(t, w.name, kept.Forward(b), slices.Clone(recomputed.Forward(b)))
		}
		for i, length := range []int{w.length, w.length, short, short, w.length} {
			compare(newBatch(c, uint64(i), w.size, length))
		}
		compare(newBatch(c, 9, w.size, w.length, w.lengths...))
		vektest.EachLevel(t, func(t *testing.T, level vek.Level) { compare(newBatch(c, 10, w.size, w.length)) })
	}
}

// The kernels are not computed again: the next batch of the same length is convolved with the
// spectra of the layer.
func TestFixedKeeps(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 64, Fixed: true})
	b := newBatch(c, 1, 2, 64)
	want := slices.Clone(n.Forward(b))
	for _, bk := range n.pass.blocks {
		clear(bk.spectra)
	}
	if slices.Equal(n.Forward(b), want) {
		t.Error("the kept spectra are not used")
	}
	n.Forward(newBatch(c, 2, 2, 20))
	sameBits(t, "after another length", n.Forward(b), want)
}

// Nothing is allocated once each length has been seen.
func TestFixedAllocations(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 5, MaxLen: 200, Workers: 2, Fixed: true})
	long, short := newBatch(c, 1, 5, 200), newBatch(c, 2, 4, 90, 90, 3, 50, 1)
	forward := func() {
		for _, b := range []Batch{long, long, short, short} {
			n.Forward(b)
		}
	}
	forward()
	must.Equal(t, testing.AllocsPerRun(4, forward), 0, "allocations")
}

// BenchmarkFixed measures inference with new and with kept kernels, in sequences per second.
func BenchmarkFixed(b *testing.B) {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 3, 10, 128, 4
	c.SSM.DState = 64
	m := newModel(b, c)
	for _, size := range []int{1, 16} {
		for name, fixed := range map[string]bool{"recomputed": false, "kept": true} {
			b.Run(fmt.Sprintf("%s/B=%d", name, size), func(b *testing.B) {
				n := newNet(b, m, Options{MaxBatch: size, MaxLen: 1024, Workers: 2, Fixed: fixed})
				batch := newBatch(c, 1, size, 1024)
				for b.Loop() {
					n.Forward(batch)
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "sequences/s")
			})
		}
	}
}
