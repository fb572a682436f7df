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
	settings := []string{"data.train_size=64", "train.checkpoint_every=3"}
	undisturbed := make(chan train.Sweep)
	go func() {
		defer close(undisturbed)
		undisturbed <- alone(t, faultSeeds, settings[0])
	}()
	f := &faulty{T: t, faults: strings.Fields("worker network worker broker worker network coordinator worker"), dir: t.TempDir(), store: t.TempDir(), settings: settings}
	network, uncut := netns.New(t)
	if uncut != nil {
		f.faults = slices.DeleteFunc(f.faults, func(fault string) bool { return fault == "network" })
		f.ip, f.port = "127.0.0.1", fmt.Sprint(netns.FreePort(t))
	} else {
		for i := range f.hosts {
			f.hosts[i] = host{network.Add(1 + i)}
		}
		f.ip, f.port = f.hosts[0].Addr, "4222"
	}
	f.serve()
	f.coordinate()
	for i := range f.workers {
		f.begin(i)
	}
	f.watch()
	t.Logf("%d attempts at runs, of which %d resumed from a checkpoint", f.waits, f.resumed)
	if len(f.faults) > 0 || f.resumed == 0 {
		t.Errorf("faults %v are left; %d attempts resumed from a checkpoint, expected some", f.faults, f.resumed)
	}
	same(t, tiny(t, f.dir, faultSeeds, settings...), <-undisturbed)
	if uncut != nil {
		t.Skipf("no network was cut: %v", uncut)
	}
}

const faultSeeds = 6 // 12 runs

// faulty is a cluster of four hosts in which faults happen.
type faulty struct {
	*testing.T
	faults              []string // that are left
	hosts               [4]host
	ip, port            string // of the broker, on the first host
	dir, store          string // of the sweep, and of the broker
	settings            []string
	broker, coordinator *process
	workers             [3]*process
	cut                 [3]string // the run of each worker that has no network
	waits, resumed      int
}

func (f *faulty) url() string { return "nats://" + f.ip + ":" + f.port }

func (f *faulty) serve() {
	f.broker = f.hosts[0].startNATS(f, "-a", f.ip, "-p", f.port, "-js", "-sd", f.store)
}

func (f *faulty) coordinate() {
	f.coordinator = f.hosts[0].start(f, "coordinator", append([]string{f.url(), f.dir, fmt.Sprint(faultSeeds)}, f.settings...)...)
}

func (f *faulty) begin(i int) {
	f.workers[i] = f.hosts[i+1].start(f, "worker", f.url(), names(3)[i], level.Current(), "wait")
}

// watch handles the lines of workers and of the coordinator until the sweep is complete.
func (f *faulty) watch() {
	for {
		i, line, ok := 0, "", false
		select {
		case line, ok = <-f.workers[0].lines:
		case line, ok = <-f.workers[1].lines:
			i = 1
		case line, ok = <-f.workers[2].lines:
			i = 2
		case text, more := <-f.coordinator.lines:
			if !more {
				must.Do(f, <-f.coordinator.ended)
				return
			}
			f.restore(text)
			continue
		}
		if !ok {
			f.Fatalf("%s ended: %v", names(3)[i], <-f.workers[i].ended)
		}
		switch event, name, _ := strings.Cut(line, " "); event {
		case "resumes":
			f.resumed++
		case "waits":
			f.waiting(i, name)
		}
	}
}

// restore connects the workers again whose runs have another worker in the states of the runs.
func (f *faulty) restore(states string) {
	var all []Status
	must.Do(f, json.Unmarshal([]byte(states), &all))
	for _, s := range all {
		for i, name := range f.cut {
			if name == s.Name && (s.State == done || s.State == running && s.Worker != names(3)[i]) {
				f.hosts[i+1].Cut(false)
				f.cut[i] = ""
			}
		}
	}
}

// waiting lets a worker continue that waits in a step of a run, or makes a fault.
func (f *faulty) waiting(i int, name string) {
	fault := "none"
	if f.waits++; f.waits%2 == 0 && len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
		f.Logf("fault: %s, while %s trains %s", fault, names(3)[i], name)
	}
	switch fault {
	case "worker":
		f.workers[i].kill()
		f.begin(i)
		return
	case "network":
		f.hosts[i+1].Cut(true)
		f.cut[i] = name
	case "broker":
		f.broker.kill()
		f.serve()
	case "coordinator":
		f.coordinator.kill()
		f.coordinate()
	}
	must.Get(fmt.Fprintln(f.workers[i].stdin))(f)
}
