package cluster

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Faults come with events, so the test does not depend on the speed of the machine: each time that
// a worker has stored a checkpoint, it may be killed.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	hosts := network(t, 4)
	const seeds = 20 // 40 runs
	settings := []string{"data.train_size=64", "train.checkpoint_every=3"}
	dir, store := t.TempDir(), t.TempDir()
	serve := func() *process { return hosts[0].start(t, "broker", "10.209.0.1:4222", store) }
	b := serve()
	url := <-b.lines
	coordinator := hosts[0].start(t, "coordinator", append([]string{url, dir, fmt.Sprint(seeds)}, settings...)...)
	workers := map[string]*process{}
	begin := func(i int) { workers[names(3)[i]] = hosts[i+1].start(t, "worker", url, names(3)[i]) }
	for i := range 3 {
		begin(i)
	}

	var kills, cuts, restarts, dones int
	var healAt, killAt int // complete runs before the next fault
	cutOff := false
	began := time.Now()
	for line := range coordinator.lines {
		var all []Status
		must.Do(t, json.Unmarshal([]byte(line), &all))
		dones = 0
		busy := map[string]int{} // steps of the run that a worker trains
		for _, s := range all {
			switch s.State {
			case done:
				dones++
			case running:
				busy[s.Worker] = s.Step
			}
		}
		if dones == len(all) {
			continue
		}
		for i, name := range names(2) { // workers that are killed in the middle of a run
			if busy[name] > 0 && dones >= killAt && kills%2 == i {
				workers[name].kill()
				begin(i)
				kills, killAt = kills+1, dones+3
				t.Logf("%v: %s killed with %d complete runs", time.Since(began), name, dones)
			}
		}
		if busy[names(3)[2]] > 0 && !cutOff && (cuts == 0 && dones >= 4 || cuts == 1 && dones >= 20) {
			hosts[3].cut(t, true)
			cutOff, healAt, cuts = true, dones+6, cuts+1
			t.Logf("%v: network cut with %d complete runs", time.Since(began), dones)
		}
		if cutOff && dones >= healAt {
			hosts[3].cut(t, false)
			cutOff = false
			t.Logf("%v: network restored with %d complete runs", time.Since(began), dones)
		}
		if restarts == 0 && dones >= 13 {
			b.kill()
			b = serve()
			must.Equal(t, <-b.lines, url, "URL after the restart")
			restarts++
			t.Logf("%v: broker restarted with %d complete runs", time.Since(began), dones)
		}
	}
	must.Do(t, <-coordinator.ended)
	t.Logf("%v: complete; %d workers killed, the network cut %d times, the broker restarted %d times", time.Since(began), kills, cuts, restarts)
	if kills < 5 || cuts != 2 || restarts != 1 {
		t.Errorf("%d kills, %d cuts, %d restarts", kills, cuts, restarts)
	}
	same(t, tiny(t, dir, seeds, settings...), alone(t, seeds, settings[0]))
}
