package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// keptKernels describes the spectra that the layers of a Net with Options.Fixed hold.
type keptKernels struct {
	plan  *plan // of the spectra; nil if they are incomplete
	level vek.Level
}
