package convmode

import (
	"slices"
	"testing"
)

// Kept kernels give the bits of newly computed ones in every network, for any order of lengths.
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
	}
}

// The kernels are not computed again: the next batch of the same length is convolved with the
// spectra of the layer.
func TestFixedKeeps(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 2, MaxLen: 64, Fixed: true})
	b := newBatch(c, 1, 2, 64)
	want := slices.Clone(n.Forward(b))
	for _, bk := range n.blocks {
		clear(bk.sequence.(*convolution).spectra)
	}
	if slices.Equal(n.Forward(b), want) {
		t.Error("the kept spectra are not used")
	}
	n.Forward(newBatch(c, 2, 2, 20))
	sameBits(t, "after another length", n.Forward(b), want)
}
