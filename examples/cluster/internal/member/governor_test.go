package member

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestGovernor(t *testing.T) {
	for _, c := range []struct {
		name    string
		limit   int
		slow    int
		streams int
		lag     float64
		others  []wire.Status
		want    decision
	}{
		{"alone", 0, 0, 500, 0, nil, decision{pull: true, urgency: relaxed}},
		{"alone and slow", 0, 9, 500, 9, nil, decision{pull: true, urgency: relaxed, slow: true}},
		{"new", 0, 0, 0, 0, []wire.Status{{Streams: 10}}, decision{pull: true, urgency: urgent}},
		{"equal", 0, 0, 10, 0, []wire.Status{{Streams: 10}}, decision{pull: true, urgency: relaxed}},
		{"a new one joins", 0, 0, 10, 0, []wire.Status{{}}, decision{release: 5, why: "balance", pull: true, urgency: relaxed}},
		{"many at a time", 0, 0, 200, 0, []wire.Status{{}}, decision{release: maxRebalance, why: "balance", pull: true, urgency: relaxed}},
		{"nearly balanced", 0, 0, 105, 0, []wire.Status{{Streams: 95}}, decision{pull: true, urgency: relaxed}},
		{"the other is slow", 0, 0, 10, 0, []wire.Status{{Slow: true}}, decision{pull: true, urgency: relaxed}},
		{"the other is at its limit", 0, 0, 10, 0, []wire.Status{{Streams: 2, Limit: 2}}, decision{pull: true, urgency: relaxed}},
		{"not yet slow", 0, 1, 100, 9, []wire.Status{{Streams: 100}}, decision{pull: true, urgency: relaxed}},
		{"slow", 0, 2, 100, 9, []wire.Status{{Streams: 100}}, decision{release: 10, why: "slow", urgency: relaxed, slow: true}},
		{"all are slow", 0, 2, 100, 9, []wire.Status{{Streams: 100, Lag: 9}}, decision{pull: true, urgency: relaxed, slow: true}},
		{"at its limit", 20, 0, 20, 0, []wire.Status{{Streams: 100}}, decision{pull: true, urgency: relaxed}},
	} {
		g := governor{maxLag: 0.1, limit: c.limit, slow: c.slow}
		must.Equal(t, g.step(c.streams, c.lag, c.others), c.want, "%s", c.name)
	}
}

// A limit rises when the member is no longer slow.
func TestGovernorLimit(t *testing.T) {
	g := governor{maxLag: 0.1}
	others := []wire.Status{{Streams: 100}}
	for range slowSteps {
		g.step(100, 1, others)
	}
	must.Equal(t, g.limit, 90, "limit of a slow member")
	for range calmSteps {
		g.step(90, 0, others)
	}
	must.Equal(t, g.limit, 94, "limit after a while")
}

// fleet simulates members that see each other's status of the step before, and a queue that gives
// every stream to the member in most urgent need of it.
type fleet struct {
	governors []*governor
	streams   []int
	capacity  []int // streams above which a member is slow
	moves     int
}

func (f *fleet) add(streams, capacity int) {
	f.governors = append(f.governors, &governor{maxLag: 0.1})
	f.streams, f.capacity = append(f.streams, streams), append(f.capacity, capacity)
}

func (f *fleet) step() {
	lag := func(i int) float64 { return max(0, float64(f.streams[i]-f.capacity[i])) }
	var all []wire.Status
	for i, g := range f.governors {
		all = append(all, wire.Status{Streams: f.streams[i], Limit: g.limit, Lag: lag(i), Slow: g.slow >= slowSteps})
	}
	queued := 0
	var decisions []decision
	for i, g := range f.governors {
		others := append(append([]wire.Status{}, all[:i]...), all[i+1:]...)
		d := g.step(f.streams[i], lag(i), others)
		decisions = append(decisions, d)
		f.streams[i] -= d.release
		queued += d.release
	}
	f.moves += queued
	for i := 0; queued > 0; i = (i + 1) % len(f.streams) {
		// Waiting members take turns. A relaxed one gets a stream if none is urgent.
		urgentOnes := false
		for j, d := range decisions {
			share := f.governors[j].share(all[j].Streams, append(append([]wire.Status{}, all[:j]...), all[j+1:]...))
			urgentOnes = urgentOnes || d.pull && d.urgency == urgent && f.streams[j] < share
		}
		if d := decisions[i]; d.pull && (d.urgency == urgent || !urgentOnes) {
			f.streams[i]++
			queued--
		}
	}
}

// Members that join take a share, streams that moved stay, and a slow member ends below its
// capacity.
func TestGovernorConverges(t *testing.T) {
	f := &fleet{}
	f.add(300, 1000)
	f.add(300, 1000)
	f.add(0, 1000)
	for range 60 {
		f.step()
	}
	for i, n := range f.streams {
		if n < 180 || n > 220 {
			t.Errorf("member %d has %d of 600 streams after 60 steps: %v", i, n, f.streams)
		}
	}
	moves := f.moves
	if moves > 250 {
		t.Errorf("%d streams moved, expected about 200", moves)
	}
	for range 100 {
		f.step()
	}
	must.Equal(t, f.moves, moves, "moves once the load is balanced")

	f = &fleet{}
	f.add(200, 50)
	f.add(200, 1000)
	f.add(200, 1000)
	for range 120 {
		f.step()
	}
	if f.streams[0] > 55 {
		t.Errorf("the slow member has %d streams, expected about 50", f.streams[0])
	}
	moves = f.moves
	for range 600 { // ten minutes
		f.step()
	}
	if n := f.moves - moves; n > 120 {
		t.Errorf("%d streams moved in ten minutes after the shedding", n)
	}
}
