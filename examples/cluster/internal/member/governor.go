package member

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
)

const (
	slowSteps    = 3  // steps in a row with too much lag that make a member slow
	calmSteps    = 30 // steps without, after which a limit is raised
	maxRebalance = 25 // streams that a member releases per step to balance the load
)

// governor decides, once per step (a second), how many streams a member releases and whether it
// takes others. The number of streams above which a member is slow becomes its limit: it falls by a
// tenth while the member is slow, and rises by a twentieth per calmSteps.
type governor struct {
	maxLag float64 // seconds
	limit  int     // 0: none
	slow   int     // steps in a row
	calm   int     // steps in a row
}

// decision is the result of a step.
type decision struct {
	release int    // number of streams
	why     string // slow or balance
	pull    bool
	urgency uint8 // priority of a pull request, 0 first
	slow    bool
}

const (
	urgent  = 0 // the member has less than its share
	relaxed = 5
)

// step decides for a member with a number of streams and a mean lag in seconds over the last step.
func (g *governor) step(streams int, lag float64, others []wire.Status) (d decision) {
	if lag > g.maxLag {
		g.slow, g.calm = g.slow+1, 0
	} else {
		g.slow, g.calm = 0, g.calm+1
	}
	d.slow = g.slow >= slowSteps
	if g.calm >= calmSteps && g.limit > 0 {
		g.limit, g.calm = g.limit+max(1, g.limit/20), 0
	}
	healthy := slices.ContainsFunc(others, func(o wire.Status) bool { return !o.Slow && o.Lag < g.maxLag/2 })
	if d.slow && healthy && streams > 1 {
		d.release, d.why = max(1, streams/10), "slow"
		g.limit, g.slow = streams-d.release, 0
	}
	share := g.share(streams, others)
	own := share
	if g.limit > 0 {
		own = min(own, g.limit)
	}
	d.pull = !d.slow || !healthy
	d.urgency = relaxed
	if streams < own {
		d.urgency = urgent
	}
	needy := slices.ContainsFunc(others, func(o wire.Status) bool {
		return !o.Slow && o.Streams < share && (o.Limit == 0 || o.Streams < o.Limit)
	})
	if excess := streams - own; d.release == 0 && needy && excess > max(1, own/10) {
		d.release, d.why = min(excess, maxRebalance), "balance"
	}
	return d
}

// share returns the number of streams per member that has no limit below it. A limit that is not
// reached leaves more to the others.
func (g *governor) share(streams int, others []wire.Status) int {
	total, limits := streams, []int{g.limit}
	for _, o := range others {
		total, limits = total+o.Streams, append(limits, o.Limit)
	}
	for i, l := range limits {
		if l == 0 {
			limits[i] = math.MaxInt
		}
	}
	slices.Sort(limits)
	for i, l := range limits {
		left := len(limits) - i
		if share := (total + left - 1) / left; share <= l {
			return share
		}
		total -= l
	}
	return math.MaxInt // the limits of all are reached
}
