package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/train"
)

// Coordinator has the runs of a sweep trained by workers. It may end at any time, and continues
// when it is started again with the same sweep and folder.
type Coordinator struct {
	// Begin and Reporter of the sweep are not used, and Load only for runs in its folder
	// (train.SweepFolder.CheckData and Checkpoint).
	Sweep train.Sweep
	// Lease is the time after which a run whose worker is silent is given to another one; 0: 10 s.
	// All sweeps of a broker have the lease of the last one.
	Lease time.Duration
	// Replicas is the number of servers of a cluster that store each item. 0: as many as they are
	// now, and one where the broker has none.
	Replicas int
	// MapPaths replaces each path of data in a configuration by that which f returns. nil: the data
	// have no paths.
	MapPaths func(c *train.Config, f func(path string) (string, error)) error
	// Watch is called after every change, from one goroutine; may be nil.
	Watch func([]Status)
	Log   *slog.Logger // nil: none
}

// Status is the state of a run.
type Status struct {
	Name   string
	State  string // queued, running, stopped, done or failed
	Worker string
	Step   int // complete steps
	Steps  int // planned ones; 0: not known
	Epoch  int // the current one
	Epochs int
	Result string // of the last validation; of the best epoch, when the run is done; the error, when it has failed
	Level  string // of the kernels; after a change of machines all of them
}

// LeastLease is the shortest lease: workers renew theirs three times in it.
const LeastLease = time.Second

// usualLease is the default of Coordinator.Lease.
const usualLease = 10 * time.Second

// poll is the time after which the coordinator looks for what it missed while the broker could not
// be reached.
const poll = 10 * time.Second

// sweep is a sweep that a Coordinator works on.
type sweep struct {
	*Coordinator
	*store
	id     string
	folder *train.SweepFolder
	jobs   []*job // by run
	state  []Status
	open   map[int]bool // runs without a result
	errs   []error      // of failed runs
}

// Run makes all runs that are not complete, and writes their results as Sweep.Run does. A run that
// fails does not stop the others; the errors come at the end. If ctx is cancelled, workers store
// checkpoints and stop, the runs leave the queue, and the error is train.ErrInterrupted. The broker
// keeps the checkpoints until the sweep is complete.
func (c *Coordinator) Run(ctx context.Context, nc *nats.Conn) ([]train.SweepRow, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	folder, err := c.Sweep.Open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	s := &sweep{Coordinator: c, folder: folder, open: map[int]bool{}, state: make([]Status, len(folder.Runs))}
	if err := recoverFolders(atomicfile.System(), c.Sweep.Dir); err != nil {
		return nil, err
	}
	if err := s.describe(ctx); err != nil {
		return folder.Rows(), err
	}
	for i := range folder.Runs {
		s.state[i] = Status{Name: folder.Runs[i].Name(), State: done}
		if folder.Complete(i) {
			if err := folder.CheckData(ctx, i); err != nil {
				return folder.Rows(), err
			}
			continue
		}
		if name := filepath.Base(folder.Runs[i].Dir); len(name) > maxName {
			return folder.Rows(), fmt.Errorf("cluster: the folder of run %.80s… has a name of %d bytes, expected at most %d: use shorter values", name, len(name), maxName)
		}
		s.open[i], s.state[i].State = true, queued
	}
	if len(s.open) == 0 {
		return folder.Rows(), nil
	}
	if s.store, err = create(ctx, nc, cmp.Or(c.Lease, usualLease), c.Replicas); err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return folder.Rows(), err
	}
	err = s.run(ctx)
	if ctx.Err() != nil && len(s.open) > 0 {
		return folder.Rows(), s.drain()
	}
	if err != nil {
		return folder.Rows(), err
	}
	if len(s.errs) == 0 {
		s.clean()
	}
	return folder.Rows(), errors.Join(s.errs...)
}

// errInterrupted is the error of a sweep that was cancelled.
var errInterrupted = fmt.Errorf("cluster: %w", train.ErrInterrupted)

// describe makes the jobs and the name of the sweep, which is a hash of all of them.
func (s *sweep) describe(ctx context.Context) error {
	h, known := sha256.New(), map[string]dataRef{}
	step := func() error {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return nil
	}
	for i := range s.folder.Runs {
		r := &s.folder.Runs[i]
		text, err := r.Config.Encode()
		if err != nil {
			return err
		}
		j := &job{Version: version, Run: i, Name: r.Name(), Config: string(text)}
		if s.MapPaths != nil {
			cfg := r.Config
			err = s.MapPaths(&cfg, func(path string) (string, error) {
				if err := step(); err != nil {
					return "", err
				}
				ref, ok := known[path]
				if !ok {
					s.Log.Info("computing the hash of the data", "path", path)
					if ref, err = treeOf(path, math.MaxInt64, step); err != nil {
						return "", err
					}
					known[path] = ref
				}
				j.Data = append(j.Data, ref)
				return path, nil
			})
			if err != nil {
				return err
			}
		}
		s.jobs = append(s.jobs, j)
		_ = json.NewEncoder(h).Encode(j) // to memory: cannot fail
	}
	s.id = fmt.Sprintf("%x", h.Sum(nil))[:16]
	for _, j := range s.jobs {
		j.Sweep = s.id
	}
	return nil
}

// run queues the runs and collects their results, until there are none left or ctx ends.
func (s *sweep) run(ctx context.Context) error {
	if err := s.kv.Purge(ctx, stopKey(s.id)); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := s.enqueue(ctx, true); err != nil {
		return err
	}
	reports := make(chan *nats.Msg, 256)
	requests := make(chan *nats.Msg, 256)
	for subject, to := range map[string]chan *nats.Msg{progressOf: reports, dataOf: requests} {
		sub, err := s.nc.ChanSubscribe(subject+s.id, to)
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		defer sub.Unsubscribe()
	}
	serving, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() { s.serve(serving, requests); close(served) }()
	defer func() { cancel(); <-served }()

	watch, err := s.kv.Watch(ctx, s.id+".*")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer watch.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for len(s.open) > 0 && ctx.Err() == nil {
		var err error
		select {
		case <-ctx.Done():
		case got, ok := <-watch.Updates():
			if !ok {
				return errors.New("cluster: the connection to the broker was closed")
			}
			if got != nil && got.Operation() == jetstream.KeyValuePut {
				err = s.changed(ctx, got.Key(), got.Value())
			}
		case m := <-reports:
			s.report(m.Data)
		case <-tick.C:
			err = s.enqueue(ctx, false)
		}
		if errors.As(err, new(brokerError)) {
			s.Log.Warn("broker", "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enqueue queues each run that has no result and is not in the queue, and collects results. A run
// that failed before is tried again at the start.
func (s *sweep) enqueue(ctx context.Context, start bool) error {
	for i, j := range s.jobs {
		if !s.open[i] {
			continue
		}
		e, rev, err := read(ctx, s.kv, j.key())
		switch {
		case errors.Is(err, errOver):
			err = s.begin(ctx, i)
		case err != nil:
		case e.Status == done, e.Status == failed && !start:
			err := s.settle(ctx, i, e)
			if errors.As(err, new(brokerError)) { // the next tick tries again
				s.Log.Warn("broker", "error", err)
			} else if err != nil {
				return err
			}
			continue
		case e.Status == failed:
			e.Status, e.Errors, e.Claims, e.Error = queued, 0, 0, ""
			_, err = write(ctx, s.kv, j.key(), e, rev)
		}
		if err == nil {
			err = s.publish(ctx, j)
		}
		if err != nil {
			return err
		}
	}
	s.show()
	return nil
}

// begin makes the entry of a run. If the folder of the sweep has a checkpoint of it, the run starts
// from there. If SweepFolder.Checkpoint fails, begin returns its error and changes no file.
func (s *sweep) begin(ctx context.Context, i int) error {
	j, dir := s.jobs[i], s.folder.Runs[i].Dir
	e := entry{Version: version, Name: j.Name, Status: queued}
	checkpoint, err := s.folder.Checkpoint(ctx, i)
	if err != nil {
		return err
	}
	if checkpoint != "" {
		names := train.RunFiles()
		last, instead := names[len(names)-1], map[string][]byte{}
		if checkpoint != last {
			path := filepath.Join(dir, filepath.FromSlash(checkpoint))
			s.Log.Warn("the last checkpoint is damaged or missing: the run continues from the previous one", "name", j.Name, "path", path)
			if instead[last], err = os.ReadFile(path); err != nil {
				return fmt.Errorf("cluster: %w", err)
			}
		}
		e.Levels = []string{levelName()} // of this machine, which trained it
		if e.Files, err = put(ctx, s.objects, dir, j.key()+".local", nil, instead); err != nil {
			return err
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if _, err := s.kv.Create(ctx, j.key(), text); err != nil && !conflict(err) {
		return brokerError{fmt.Errorf("cluster: entry %s: %w", j.key(), err)}
	}
	return nil
}

// publish puts a job into the queue unless it is there already.
func (s *sweep) publish(ctx context.Context, j *job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	_, err = s.js.Publish(ctx, runsSubject+j.key(), text, jetstream.WithExpectLastSequencePerSubject(0))
	if err != nil && !conflict(err) {
		return brokerError{fmt.Errorf("cluster: queue: %w", err)}
	}
	return nil
}

// serve puts data into the object store for workers that do not have them.
func (s *sweep) serve(ctx context.Context, requests <-chan *nats.Msg) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-requests:
			answer := ""
			if err := s.send(ctx, string(m.Data)); err != nil {
				answer = err.Error()
			}
			_ = m.Respond([]byte(answer))
		}
	}
}

// send puts the data with a hash into the object store, unless they are there.
func (s *sweep) send(ctx context.Context, hash string) error {
	for _, j := range s.jobs {
		for _, ref := range j.Data {
			if ref.Hash != hash {
				continue
			}
			if _, err := s.objects.GetInfo(ctx, ref.object(s.id)); err == nil {
				return nil
			}
			return putObject(ctx, s.objects, ref.object(s.id), ref.Size, func() (io.ReadCloser, error) {
				r, w := io.Pipe()
				go func() { w.CloseWithError(pack(w, ref.Path)) }()
				return r, nil
			})
		}
	}
	return fmt.Errorf("no data of this sweep have the hash %.80q", hash)
}
