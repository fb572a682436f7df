package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// tiny returns a sweep over initialisations whose runs take some ten milliseconds.
func tiny(t testing.TB, dir string, seeds int, set ...string) train.Sweep {
	t.Helper()
	tk := must.Get(task.Lookup("delay"))(t)
	cfg := tk.Preset()
	for _, s := range append([]string{
		"data.length=32", "data.delay=4", "data.train_size=32", "data.eval_size=16", "model.d_model=4", "ssm.d_state=4",
		"train.batch=8", "train.epochs=3", "threads=1",
	}, set...) {
		must.Do(t, cfg.Set(s))
	}
	must.Do(t, tk.Resolve(&cfg))
	return train.Sweep{
		Base: cfg, Seeds: seeds, Dir: dir, Check: tk.Resolve,
		Axes: []train.Axis{{Keys: []string{"ssm.init"}, Values: []string{"lin", "dfout"}}},
		Load: loadTask,
	}
}

func loadTask(ctx context.Context, c train.Config) (*dataset.Dataset, error) {
	tk, err := task.Lookup(c.Task)
	if err != nil {
		return nil, err
	}
	return tk.Load(ctx, task.From(c))
}

// alone makes the runs of a sweep without a cluster.
func alone(t testing.TB, seeds int, set ...string) train.Sweep {
	t.Helper()
	s := tiny(t, t.TempDir(), seeds, set...)
	must.Get(s.Run(t.Context()))(t)
	return s
}

// start starts a NATS server on this machine, and returns its URL.
func start(t testing.TB) string {
	t.Helper()
	return "nats://secret@" + host{}.startNATS(t, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", t.TempDir(), "--auth", "secret").address
}

// connect connects until the end of the test.
func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	return dial(t, Connection{URL: url})
}

func dial(t testing.TB, c Connection) *nats.Conn {
	t.Helper()
	c.Log = logger(t)
	nc := must.Get(Connect(c))(t)
	t.Cleanup(nc.Close)
	return nc
}

// logger logs to the test.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// work starts a worker, which ends with the test, and returns a function that ends it earlier.
func work(t testing.TB, nc *nats.Conn, w *Worker) (stop func() error) {
	t.Helper()
	if w.Load == nil {
		w.Load = loadTask
	}
	w.Log = logger(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, nc) }()
	var err error
	stopped := false
	stop = func() error {
		if cancel(); !stopped {
			stopped, err = true, <-ended
		}
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// same compares the tables and the runs of two sweeps. Only times may differ.
func same(t testing.TB, got, want train.Sweep) {
	t.Helper()
	table := func(s train.Sweep) string { return string(must.Get(os.ReadFile(filepath.Join(s.Dir, "sweep.csv")))(t)) }
	must.Equal(t, table(got), table(want), "sweep.csv")
	runs := func(s train.Sweep) []train.SweepRun {
		f := must.Get(s.Open())(t)
		defer f.Close()
		for i := range f.Runs {
			must.Equal(t, f.Complete(i), true, "%s is complete", f.Runs[i].Name())
		}
		return f.Runs
	}
	a, b := runs(got), runs(want)
	for i := range a {
		model := func(r train.SweepRun) []byte {
			return must.Get(os.ReadFile(filepath.Join(r.Dir, "best.safetensors")))(t)
		}
		x, y := metrics(t, a[i].Dir), metrics(t, b[i].Dir)
		if !bytes.Equal(model(a[i]), model(b[i])) || !reflect.DeepEqual(x, y) {
			t.Errorf("%s: the models or the metrics differ: metrics\n%v, expected\n%v", a[i].Name(), x, y)
		}
	}
}

// metrics returns the lines of metrics.jsonl without times.
func metrics(t testing.TB, dir string) (lines []map[string]any) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, "metrics.jsonl")))(t)
	for line := range strings.Lines(string(text)) {
		var m map[string]any
		must.Do(t, json.Unmarshal([]byte(line), &m))
		delete(m, "seconds")
		delete(m, "sequences_per_second")
		lines = append(lines, m)
	}
	return lines
}

// names returns the names of so many workers.
func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("worker-%d", i))
	}
	return list
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

func readFile(t testing.TB, dir, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t))
}
