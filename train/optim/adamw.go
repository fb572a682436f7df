// Package optim updates the weights of a network: AdamW with a learning rate and a weight decay per
// group of tensors, and schedules of the learning rates (docs/maths.md §4). Package train uses it.
// Together with convmode and loss, it is all that a training loop of your own needs.
package optim

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// AdamW is the optimiser of docs/maths.md §4.1 over the tensors of a network.
type AdamW struct {
	config  Config
	weights *model.Weights
	m, v    *model.Weights // moving averages of the gradient and of its square
}

// NewAdamW returns an optimiser that updates the weights of m. The configuration must be valid
// (Config.Validate).
func NewAdamW(m *model.Model, c Config) *AdamW {
	return &AdamW{config: c, weights: m.Weights, m: model.NewWeights(m.Config), v: model.NewWeights(m.Config)}
}

// epsilon is ε of docs/maths.md §4.1, as in the official code.
const epsilon = 1e-8

// Step performs update n, counted from 1, with every learning rate multiplied by factor
// (Schedule.Factor). Frozen tensors and running statistics are not trained. It allocates nothing.
func (a *AdamW) Step(grads *model.Weights, n int, factor float64) {
	beta1, beta2 := a.config.Betas[0], a.config.Betas[1]
	h := vek.AdamWParams{
		Beta1: beta1, Beta2: beta2, Eps: epsilon,
		Correction1: 1 - math.Pow(beta1, float64(n)),
		Correction2: 1 - math.Pow(beta2, float64(n)),
	}
	m, v, g := a.m.Tensors(), a.v.Tensors(), grads.Tensors()
	for i, p := range a.weights.Tensors() {
		if p.Kind == model.KindBuffer || a.config.Frozen(p) {
			continue
		}
		lr, decay := a.config.Hyper(p)
		h.LR, h.WeightDecay = lr*factor, decay
		vek.AdamW(p.Data, m[i].Data, v[i].Data, g[i].Data, h)
	}
}

// Moments returns the state of the optimiser: the moving averages of the gradient and of its
// square. To restore a state, copy values into them.
func (a *AdamW) Moments() (first, second *model.Weights) { return a.m, a.v }
