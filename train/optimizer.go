package train

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// optimizer is AdamW over a network's tensors, each with its group's learning rate and weight decay
// (docs/maths.md §4.1, §4.2). Buffers are not trained.
type optimizer struct {
	config  OptimConfig
	weights *model.Weights
	m, v    *model.Weights // moving averages of the gradient and of its square
}

func newOptimizer(c OptimConfig, m *model.Model) *optimizer {
	return &optimizer{config: c, weights: m.Weights, m: model.NewWeights(m.Config), v: model.NewWeights(m.Config)}
}

// step performs update t, counted from 1, with every learning rate multiplied by factor.
func (o *optimizer) step(grads *model.Weights, t int, factor float64) {
	beta1, beta2 := o.config.Betas[0], o.config.Betas[1]
	h := vek.AdamWParams{
		Beta1: beta1, Beta2: beta2, Eps: o.config.Eps,
		Correction1: 1 - math.Pow(beta1, float64(t)),
		Correction2: 1 - math.Pow(beta2, float64(t)),
	}
	m, v, g := o.m.Tensors(), o.v.Tensors(), grads.Tensors()
	for i, p := range o.weights.Tensors() {
		if p.Kind == model.KindBuffer {
			continue
		}
		lr, decay := o.config.Hyper(p)
		h.LR, h.WeightDecay = lr*factor, decay
		vek.AdamW(p.Data, m[i].Data, v[i].Data, g[i].Data, h)
	}
}
