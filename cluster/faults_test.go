package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// 40 runs on three workers, each in a network namespace. Workers are killed, the network of one is
// cut twice, the broker and the coordinator are killed and restarted. The result is that of the
// same sweep alone. A worker is killed when it has stored a checkpoint of an incomplete run. The
// test requires a number of faults, and how many happen depends on how fast the runs end: it is
// therefore not part of the standard tests.
func TestFaults(t *testing.T) {
	if os.Getenv("S4D_FAULTS") == "" {
		t.Skip("takes a minute; runs with S4D_FAULTS=1")
	}
	hosts := network(t, 4)
	const seeds = 20 // 40 runs
	settings := []string{"data.train_size=64", "train.checkpoint_every=3"}
	dir, store := t.TempDir(), t.TempDir()
	serve := func() *process { return hosts[0].start(t, "broker", "10.209.0.1:4222", store) }
	b := serve()
	url := <-b.lines
	coordinate := func() *process {
		return hosts[0].start(t, "coordinator", append([]string{url, dir, fmt.Sprint(seeds)}, settings...)...)
	}
	coordinator := coordinate()
	workers := map[string]*process{}
	begin := func(i int) { workers[names(3)[i]] = hosts[i+1].start(t, "worker", url, names(3)[i]) }
	for i := range 3 {
		begin(i)
	}

	var kills, cuts, restarts, coordinators, dones int
	var healAt, killAt int // complete runs before the next fault
	cutOff, cutRun := false, ""
	began := time.Now()
	for {
		line, ok := <-coordinator.lines
		if !ok {
			break
		}
		var all []Status
		must.Do(t, json.Unmarshal([]byte(line), &all))
		dones = 0
		busy := map[string]int{} // steps of the run that a worker trains
		taken := true            // another worker has the run of the one without a network
		for _, s := range all {
			if cutOff && s.Name == cutRun && s.State != done && s.Worker == names(3)[2] {
				taken = false
			}
			switch s.State {
			case done:
				dones++
			case running:
				busy[s.Worker] = s.Step
				if s.Worker == names(3)[2] && !cutOff {
					cutRun = s.Name
				}
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
		if !cutOff && (cuts == 0 && dones >= 4 && busy[names(3)[2]] > 0 || cuts == 1 && dones >= 14) {
			hosts[3].cut(t, true)
			cutOff, healAt, cuts = true, dones+4, cuts+1
			t.Logf("%v: network cut with %d complete runs", time.Since(began), dones)
		}
		if cutOff && taken && dones >= healAt {
			hosts[3].cut(t, false)
			cutOff = false
			t.Logf("%v: network restored with %d complete runs", time.Since(began), dones)
		}
		if restarts == 0 && dones >= 20 {
			b.kill()
			b = serve()
			must.Equal(t, <-b.lines, url, "URL after the restart")
			restarts++
			t.Logf("%v: broker restarted with %d complete runs", time.Since(began), dones)
		}
		if coordinators == 0 && dones >= 28 {
			coordinator.kill()
			coordinator = coordinate()
			coordinators++
			t.Logf("%v: coordinator restarted with %d complete runs", time.Since(began), dones)
		}
	}
	must.Do(t, <-coordinator.ended)
	t.Logf("%v: complete; %d workers killed, the network cut %d times, the broker restarted %d times, the coordinator %d times",
		time.Since(began), kills, cuts, restarts, coordinators)
	if kills < 5 || cuts != 2 || restarts != 1 || coordinators != 1 {
		t.Errorf("%d kills, %d cuts, %d restarts of the broker, %d of the coordinator", kills, cuts, restarts, coordinators)
	}
	same(t, tiny(t, dir, seeds, settings...), alone(t, seeds, settings[0]))
}
