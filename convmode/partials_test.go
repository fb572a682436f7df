package convmode

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// TestPartialsOrder checks that the sum of groups has the same bits for any number of workers that
// finish in any order, and that maxPartials partials suffice. The workers take the groups in
// ascending order, as par's do.
func TestPartialsOrder(t *testing.T) {
	c := model.Default()
	c.DModel, c.Mixing = 1, model.MixingNone // partials of four floats
	r := rand.New(rand.NewPCG(1, 2))
	for groups := 1; groups <= maxGroups; groups++ {
		var expected float32
		for round, workers := range []int{1, 2, 3, 7, 16, 64, 200} {
			p := newPartials(c, Options{MaxBatch: groups, MaxLen: 1, Workers: workers})
			p.reset()
			busy := map[int]*partial{}
			for next := 0; next < groups || len(busy) > 0; {
				if next < groups && len(busy) < workers && (len(busy) == 0 || r.IntN(2) == 0) {
					busy[next] = p.take()
					next++
					continue
				}
				for group, part := range busy { // in random order
					part.all[0] = 1 / float32(group+1)
					p.add(group, groups, len(part.all), part)
					delete(busy, group)
					break
				}
			}
			got := float32(0)
			for _, root := range p.roots[:roots(groups)] {
				got += root.all[0]
			}
			if round == 0 {
				expected = got
			}
			sameBits(t, fmt.Sprintf("%d groups, %d workers", groups, workers), []float32{got}, []float32{expected})
			exact := 0.0
			for g := range groups {
				exact += 1 / float64(g+1)
			}
			if d := float64(got) - exact; d > 1e-5 || d < -1e-5 {
				t.Errorf("%d groups: sum %v, expected %v", groups, got, exact)
			}
		}
	}
}

// TestGroups checks that a batch with enough tiles feeds 64 workers in the backward pass of a
// block, and that the memory for it does not grow beyond maxGroups.
func TestGroups(t *testing.T) {
	c := tiny()
	n := newNet(t, newModel(t, c), Options{MaxBatch: 64, MaxLen: 2, Workers: 64, Training: true})
	n.pass.grid = newGrid(64, 2, c.DModel)
	if got := n.pass.groups(); got < 64 {
		t.Errorf("64 tiles form %d groups, which feed %[1]d workers of 64", got)
	}
	c.DModel = 256
	for _, o := range []struct{ workers, expected int }{{1, 19}, {2, 22}, {16, 64}, {64, 128}, {1000, 128}} {
		opt := Options{MaxBatch: 50, MaxLen: 16384, Workers: o.workers}
		must.Equal(t, opt.maxPartials(c), o.expected, "%d workers: partials", o.workers)
	}
}
