package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// keptKernels describes the spectra that the layers of a Net with Options.Fixed hold.
type keptKernels struct {
	plan  *plan // of the spectra; nil if they are incomplete
	level vek.Level
}

// keepsSpectra reports whether layers allocate memory for the spectra of their kernels.
func (o Options) keepsSpectra() bool {
	return o.Fixed || o.Training && o.MaxBatch >= keepSpectraBatch
}
