package convmode

import (
	"math"
	"math/bits"

	"github.com/s4d-fast/s4d-fast/fftkernel"
)

// plan holds everything that depends on the length of a batch.
type plan struct {
	conv    *fftkernel.Conv // nil for a scan
	kernel  kernelPlan
	length  int // planned sequence length, at least the batch's
	taps    int // kernel taps
	scratch int // floats that conv and kernel need
}

// planFor returns the plan for batches of a length. Lengths are rounded up to one of eight per
// octave, so that batches of similar length share a plan and few plans are kept.
func (n *Net) planFor(length int) *plan {
	planned := min(roundLength(length), n.opt.MaxLen)
	pl := n.plans[planned]
	if pl == nil {
		pl = n.newPlan(planned)
		n.plans[planned] = pl
		n.growWorkers(pl)
	}
	return pl
}

func (n *Net) newPlan(length int) *plan {
	if n.cfg.SSM.MIMO() {
		return &plan{length: length}
	}
	taps := length
	if n.cfg.SSM.LMax > 0 {
		taps = min(length, max(1, int(math.Round(float64(n.cfg.SSM.LMax)/n.opt.StepScale))))
	}
	conv := fftkernel.NewConv(length, taps, n.cfg.SSM.Bidirectional)
	kernel := newKernelPlan(n.cfg, n.opt.StepScale, taps)
	return &plan{conv: conv, kernel: kernel, length: length, taps: taps, scratch: max(conv.ScratchLen(), kernel.ScratchLen())}
}

// roundLength rounds up to four significant bits.
func roundLength(length int) int {
	drop := max(bits.Len(uint(length))-4, 0)
	unit := 1 << drop
	return (length + unit - 1) / unit * unit
}
