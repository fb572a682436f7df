package convmode

import (
	"hash/crc32"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// keptKernels describes the spectra that the layers of a Net with Options.Fixed hold.
type keptKernels struct {
	plan    *plan // of the spectra; nil if they are incomplete
	level   vek.Level
	sum     uint32 // checksum of the SSMs' weights at the first call
	weights [][]float32
}

// keepsSpectra reports whether layers allocate memory for the spectra of their kernels.
func (o Options) keepsSpectra() bool {
	return o.Fixed || o.Training && o.MaxBatch >= keepSpectraBatch
}

// find reports whether a call with the plan can use the spectra, and marks them as incomplete until
// it ends.
func (k *keptKernels) find(n *Net, p *plan) bool {
	if k.weights == nil {
		for i := range n.cfg.CountSSM() {
			l := &n.w.Layers[i]
			k.weights = append(k.weights, l.Step, l.Decay, l.Freq, l.Omega, l.B, l.P, l.C, l.D)
		}
		k.sum = k.checksum()
	}
	if k.checksum() != k.sum {
		panic("convmode: the weights have changed although Options.Fixed is set")
	}
	level := vek.CurrentLevel()
	valid := k.plan == p && k.level == level
	k.plan, k.level = nil, level
	return valid
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of all weights that determine kernels.
func (k *keptKernels) checksum() (sum uint32) {
	for _, w := range k.weights {
		sum = crc32.Update(sum, castagnoli, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w)))
	}
	return sum
}
