package convmode

import (
	"hash/crc32"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// keptKernels says whose spectra the layers hold, of a Net whose weights are Fixed.
type keptKernels struct {
	plan    *plan // of the spectra; nil: none are complete
	level   vek.Level
	valid   bool   // they serve the call at hand
	sum     uint32 // of the SSMs' weights at the first call
	weights [][]float32
}

// keepsSpectra reports whether layers have room for their kernels' spectra.
func (o Options) keepsSpectra() bool {
	return o.Fixed || o.Training && o.MaxBatch >= keepSpectraBatch
}

// find looks whether the spectra serve the call at hand. Until it ends, none are complete.
func (k *keptKernels) find(n *Net) {
	if k.weights == nil {
		for i := range n.cfg.CountSSM() {
			l := &n.w.Layers[i]
			k.weights = append(k.weights, l.LogStep, l.LogDecay, l.Freq, l.B, l.C, l.D)
		}
		k.sum = k.checksum()
	}
	if k.checksum() != k.sum {
		panic("convmode: the weights have changed: Options.Fixed says that they do not")
	}
	level := vek.CurrentLevel()
	k.valid = k.plan == n.plan && k.level == level
	k.plan, k.level = nil, level
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is that of all weights that kernels are made of.
func (k *keptKernels) checksum() (sum uint32) {
	for _, w := range k.weights {
		sum = crc32.Update(sum, castagnoli, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w)))
	}
	return sum
}
