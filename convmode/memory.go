package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

// Memory estimates the bytes that a Net takes in addition to the model's weights.
func (o Options) Memory(c model.Config) float64 {
	h := float64(c.DModel)
	stride := float64(o.MaxLen + 2*lineFloats)
	ssms := float64(c.CountSSM())
	modes := ssms * float64(c.SSM.Directions()*c.SSM.Modes()) * h
	floats := float64(o.MaxBatch)*stride*h*o.arrays(c) + float64(par.Workers(o.Workers))*20*stride
	packed := float64(c.NLayers * c.MixingRows() * c.DModel)
	floats += packed
	if o.Training { // transposed, what backward needs of each mode, and the sums of the gradients
		floats += packed + 16*modes + float64(o.maxPartials(c))*float64(partialFloats(c))
	}
	if c.Pool == model.PoolNone {
		floats += float64(o.MaxBatch) * stride * float64(c.DOutput)
	}
	floats += o.scanFloats(c)
	switch {
	case c.SSM.MIMO():
	case o.Fixed:
		floats += ssms * h * 4 * stride // spectra of the kernels
	case o.Training:
		floats += ssms * float64(c.SSM.Directions()) * h * stride // kernels
	}
	return 4*floats + 8*8*modes // parameters, poles and kernel factors in float64
}

// arrays returns the number of arrays [MaxBatch][H][MaxLen] of the activations (see
// newBlocks).
func (o Options) arrays(c model.Config) float64 {
	if !o.Training {
		return 2
	}
	each := 2 // x and v
	if c.Gated() {
		each += c.MixingRows() / c.DModel // z
	}
	if c.Norm != model.NormNone {
		each++ // u or s
	}
	n := each*c.NLayers + 2 // and the encoder's output, the gradient
	if c.FinalNorm {
		n++
	}
	return float64(n)
}
