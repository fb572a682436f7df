package convmode

import (
	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// A sequenceLayer applies the SSM of a block to whole sequences. There are three implementations: a
// convolution, whose kernels come from a kernelSource, a scan over time, for SSMs that mix the
// channels, and the identity of a block without an SSM.
type sequenceLayer interface {
	// forward computes v = SSM(mask(u)) + D·u for all channels and sequences, where mask zeroes the
	// padding. A block without an SSM computes v = mask(u).
	forward()

	// backward computes ∂u from ∂v, which is stored in v, and adds the gradients of the block's
	// weights. It adds ∂u to ∂x_i, or leaves it in v where a norm is between x_i and u_i
	// (addInputGrad).
	backward()
}

func (bk *block) newSequence() sequenceLayer {
	switch n := bk.net; {
	case !n.cfg.HasSSM(bk.index):
		return bk.newIdentity()
	case n.cfg.SSM.MIMO():
		return bk.newScanLayer()
	default:
		return bk.newConvolution(newKernelSource(n.cfg, n.opt.StepScale, n.poleGrad))
	}
}

// A kernelSource computes the kernels of a block's channels, and the gradients of its weights. The
// methods for different channels run concurrently.
type kernelSource interface {
	// fill reads the block's weights.
	fill(w *model.Layer)

	// discretize prepares the kernels of channel h. It is called once between two calls of fill.
	discretize(h int)

	// kernels writes the kernel of channel h to k0 and, if k1 is not nil, that of its second
	// direction to k1. D is not included.
	kernels(p kernelPlan, scratch []float32, h int, k0, k1 []float32)

	// clearGrad zeroes the gradients to which channels add, before kernelGrad.
	clearGrad()

	// kernelGrad adds to the gradients of channel h. dk0 and dk1 are the gradients of its kernels.
	// Only the first len(dk0) taps are read; those after them are 0. dk1 is nil if causal.
	kernelGrad(p kernelPlan, scratch []float32, h int, dk0, dk1 []float32)

	// addGrad adds the gradients of all channels to those of the block's weights, except D.
	addGrad(grad *model.Layer)
}

// A kernelPlan holds what the kernels of one length share across the blocks. Each kernelSource
// expects its own type of plan.
type kernelPlan interface {
	ScratchLen() int // floats
}

// newKernelSource returns the source of one block of a convolution. grad is nil without training.
func newKernelSource(c model.Config, stepScale float64, grad *poleGrad) kernelSource {
	if c.SSM.Layer == ssm.LayerS4 {
		return newRankOne(c, stepScale, grad)
	}
	source := newDiagonal(c, stepScale, grad)
	if c.SSM.Layer == ssm.LayerDSS {
		return newDSS(source)
	}
	return source
}

// newKernelPlan returns the plan that the sources of the configuration need for kernels with the
// given number of taps.
func newKernelPlan(c model.Config, stepScale float64, taps int) kernelPlan {
	if c.SSM.Layer == ssm.LayerS4 {
		return newRankOnePlan(c.SSM, stepScale, taps)
	}
	plan := fftkernel.NewVandermonde(c.SSM.Modes(), taps)
	if c.SSM.Layer == ssm.LayerDSS {
		return dssPlan{plan, taps}
	}
	return plan
}
