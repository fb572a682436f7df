package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/cluster"
)

// runTable shows the runs of a distributed sweep: on a terminal with --watch as a table that is
// redrawn, otherwise as a line per epoch and per change of a run's state. It is also a writer for
// log lines, which it prints above the table.
type runTable struct {
	live   bool
	states map[string]string // last printed, by the name of the run

	mu   sync.Mutex
	w    io.Writer
	text string // the table on the terminal
}

func newRunTable(std *console, watch bool) *runTable {
	return &runTable{w: std.err, live: watch && std.terminal, states: map[string]string{}}
}

// tableRows is the number of runs that a table shows besides the totals. Terminals have 24 lines.
const tableRows = 20

// Write prints a log line.
func (t *runTable) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := io.WriteString(t.w, t.erase()+string(line)+t.text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// show is the Watch of a cluster.Coordinator.
func (t *runTable) show(all []cluster.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live {
		erase := t.erase()
		t.text = "\x1b[?7l" + statusTable(all) + "\x1b[?7h" // without wrapping, so that each row is one line
		_, _ = io.WriteString(t.w, erase+t.text)            // an error of the terminal does not end the sweep
		return
	}
	for i, s := range all {
		state := s.State + " " + s.Worker + " " + s.Result
		if old, ok := t.states[s.Name]; old == state || !ok && s.State == "queued" {
			continue
		}
		t.states[s.Name] = state
		line := fmt.Sprintf("run %d of %d: %s: %s", i+1, len(all), s.Name, s.State)
		if s.Worker != "" {
			line += " on " + s.Worker
		}
		if s.State == "running" && s.Result != "" {
			line += fmt.Sprintf(", epoch %d of %d", s.Epoch, s.Epochs)
		}
		if s.Result != "" {
			line += ": " + s.Result
		}
		fmt.Fprintln(t.w, line)
	}
}

// erase returns what removes the table from the terminal.
func (t *runTable) erase() string {
	if t.text == "" {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", strings.Count(t.text, "\n")) // up, and clear to the end
}

// end leaves the last table on the terminal.
func (t *runTable) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = ""
}

// statusTable returns the table: the totals, and the last tableRows of the runs that are not
// queued. Those that failed come last, so that the table always has them.
func statusTable(all []cluster.Status) string {
	totals := map[string]int{}
	var shown []cluster.Status
	for _, want := range []string{"done", "stopped", "running", "failed"} {
		for _, s := range all {
			if s.State == want {
				totals[want]++
				shown = append(shown, s)
			}
		}
	}
	shown = shown[max(0, len(shown)-tableRows):]
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs: %d done, %d running, %d failed, %d queued\n",
		len(all), totals["done"], totals["running"], totals["failed"], len(all)-totals["done"]-totals["running"]-totals["failed"])
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range shown {
		at := fmt.Sprintf("step %d", s.Step)
		if s.Steps > 0 && s.State == "running" {
			at = fmt.Sprintf("epoch %d/%d, step %d/%d", s.Epoch, s.Epochs, s.Step, s.Steps)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.State, s.Worker, s.Level, at, s.Result)
	}
	_ = w.Flush() // to memory: cannot fail
	return b.String()
}
