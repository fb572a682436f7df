package train

import (
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
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

// frozenStatistics is a tensor of running statistics in a frozen group, with its values. The
// network updates those of all groups, so the trainer restores the values after each step.
type frozenStatistics struct{ tensor, values []float32 }
