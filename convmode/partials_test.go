package convmode

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The backward pass of a block divides many tiles into maxGroups groups, each with a partial sum. A
// batch of three tiles has memory for three sums only.
func TestGroups(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 64, MaxLen: 2, Training: true})
	n.pass.grid = newGrid(64, 2, c.DModel)
	must.Equal(t, n.pass.groups(), maxGroups, "groups of 64 tiles")
	must.Equal(t, len(n.partials), maxGroups, "partials")
	must.Equal(t, Options{MaxBatch: 3, MaxLen: 512}.maxPartials(c), 3, "partials for three tiles")
}
