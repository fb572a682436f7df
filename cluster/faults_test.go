package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

// Runs on three workers, each in a network namespace. Workers, the broker and the coordinator
// are killed and restarted, and networks are cut until another worker has the run. The result is
// that of the same sweep alone. Where the system does not allow network namespaces, all processes
// are on this machine, and no network is cut.
//
// Every attempt at a run waits in one of its steps until the test releases its worker. Every second
// one gets a fault instead. All faults therefore happen, whatever the speed of the runs.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for leases to end")
	}
	faults := strings.Fields("worker network worker broker worker network coordinator worker")
	var hosts [4]host
	var address string
	network, uncut := netns.Try(t)
	if uncut != nil {
		faults = slices.DeleteFunc(faults, func(fault string) bool { return fault == "network" })
		address = fmt.Sprintf("127.0.0.1:%d", netns.FreePort(t))
	} else {
		for i := range hosts {
			hosts[i] = host{network.Add(1 + i)}
		}
		address = hosts[0].Addr + ":4222"
	}
	const seeds = 6 // 12 runs
	settings := []string{"data.train_size=64", "train.checkpoint_every=3"}
	undisturbed := make(chan train.Sweep)
	go func() {
		defer close(undisturbed)
		undisturbed <- alone(t, seeds, settings[0])
	}()
	dir, folder := t.TempDir(), t.TempDir()
	ip, port, _ := strings.Cut(address, ":")
	serve := func() *process { return hosts[0].startNATS(t, "-a", ip, "-p", port, "-js", "-sd", folder) }
	broker := serve()
	url := "nats://" + address
	coordinate := func() *process {
		return hosts[0].start(t, "coordinator", append([]string{url, dir, fmt.Sprint(seeds)}, settings...)...)
	}
	coordinator := coordinate()
	var workers [3]*process
	begin := func(i int) { workers[i] = hosts[i+1].start(t, "worker", url, names(3)[i], level.Current(), "wait") }
	for i := range workers {
		begin(i)
	}

	var cut [3]string // the run of each worker that has no network
	waits, resumed := 0, 0
	waiting := func(i int, name string) { // a worker waits in a step of a run
		fault := "none"
		if waits++; waits%2 == 0 && len(faults) > 0 {
			fault, faults = faults[0], faults[1:]
			t.Logf("fault: %s, while %s trains %s", fault, names(3)[i], name)
		}
		switch fault {
		case "worker":
			workers[i].kill()
			begin(i)
			return
		case "network":
			hosts[i+1].Cut(true)
			cut[i] = name
		case "broker":
			broker.kill()
			broker = serve()
		case "coordinator":
			coordinator.kill()
			coordinator = coordinate()
		}
		must.Get(fmt.Fprintln(workers[i].stdin))(t)
	}
	for complete := false; !complete; {
		i, line, ok := 0, "", false
		select {
		case line, ok = <-workers[0].lines:
		case line, ok = <-workers[1].lines:
			i = 1
		case line, ok = <-workers[2].lines:
			i = 2
		case text, more := <-coordinator.lines:
			if complete = !more; complete {
				must.Do(t, <-coordinator.ended)
				continue
			}
			var all []Status
			must.Do(t, json.Unmarshal([]byte(text), &all))
			for _, s := range all {
				for i, name := range cut {
					if name == s.Name && (s.State == done || s.State == running && s.Worker != names(3)[i]) {
						hosts[i+1].Cut(false)
						cut[i] = ""
					}
				}
			}
			continue
		}
		if !ok {
			t.Fatalf("%s ended: %v", names(3)[i], <-workers[i].ended)
		}
		switch event, name, _ := strings.Cut(line, " "); event {
		case "resumes":
			resumed++
		case "waits":
			waiting(i, name)
		}
	}
	t.Logf("%d attempts at runs, of which %d resumed from a checkpoint", waits, resumed)
	if len(faults) > 0 || resumed == 0 {
		t.Errorf("faults %v are left; %d attempts resumed from a checkpoint, expected some", faults, resumed)
	}
	same(t, tiny(t, dir, seeds, settings...), <-undisturbed)
	if uncut != nil {
		t.Skipf("no network was cut: %v", uncut)
	}
}
