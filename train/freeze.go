package train

import (
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/optim"
)

// validateFreeze reports an unknown group.
func validateFreeze(freeze []string, n model.Config) error {
	groups := n.Groups()
	for _, g := range freeze {
		if !slices.Contains(groups, g) {
			return configErrorf("optim.freeze %.80q: expected encoder, layers, layers.0 to layers.%d, ssm, mixing, norm or decoder%s", g, n.NLayers-1, suggest.Hint(g, groups))
		}
	}
	return nil
}

// trainable returns an error if every tensor is frozen.
func trainable(c optim.Config, w *model.Weights) error {
	for _, t := range w.Tensors() {
		if t.Kind != model.KindBuffer && !c.Frozen(t) {
			return nil
		}
	}
	return configErrorf("optim.freeze %.80q: nothing is left to train", c.Freeze)
}

// frozenStatistics is a tensor of running statistics in a frozen group, with its values. The
// network updates those of all groups, so the trainer restores the values after each step.
type frozenStatistics struct{ tensor, values []float32 }

func newFrozenStatistics(c optim.Config, w *model.Weights) (list []frozenStatistics) {
	for _, t := range w.Tensors() {
		if t.Kind == model.KindBuffer && c.Frozen(t) {
			list = append(list, frozenStatistics{t.Data, slices.Clone(t.Data)})
		}
	}
	return list
}
