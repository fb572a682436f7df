package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
)

// Coordinator has the runs of a sweep trained by workers. It may end at any time, and continues
// when it is started again with the same sweep and folder.
type Coordinator struct {
	// Begin and Reporter of the sweep are not used, and Load only for complete runs in its folder
	// (train.SweepFolder.CheckData).
	Sweep train.Sweep
	// Lease is the time after which a run whose worker is silent is given to another one; 0: 10 s.
	Lease time.Duration
	// MapPaths replaces each path of data in a configuration by that which f returns. nil: the data
	// have no paths.
	MapPaths func(c *train.Config, f func(path string) (string, error)) error
	// Watch is called after every change, from one goroutine; may be nil.
	Watch func([]Status)
	Log   *slog.Logger
}

// Status is the state of a run.
type Status struct {
	Name   string
	State  string // queued, running, stopping, stopped, done or failed
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

// poll is the time after which the coordinator reads all entries again, to find what it missed
// while the broker could not be reached.
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
// fails does not stop the others; the errors come at the end. If ctx is cancelled, Run asks the
// workers to store checkpoints and stop, and the error is train.ErrInterrupted. The broker keeps
// the checkpoints until the sweep is complete.
func (c *Coordinator) Run(ctx context.Context, nc *nats.Conn) ([]train.SweepRow, error) {
	folder, err := c.Sweep.Open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	s := &sweep{Coordinator: c, folder: folder, open: map[int]bool{}, state: make([]Status, len(folder.Runs))}
	for i := range folder.Runs {
		s.state[i] = Status{Name: folder.Runs[i].Name(), State: done}
		if folder.Complete(i) {
			if err := folder.CheckData(ctx, i); err != nil {
				return folder.Rows(), err
			}
			continue
		}
		s.open[i], s.state[i].State = true, queued
	}
	if len(s.open) == 0 {
		return folder.Rows(), nil
	}
	if err = s.describe(); err == nil {
		s.store, err = create(ctx, nc)
	}
	if err == nil {
		err = s.run(ctx)
	}
	switch {
	case ctx.Err() != nil && len(s.open) > 0:
		err = fmt.Errorf("cluster: %w", train.ErrInterrupted)
		if s.store != nil {
			err = errors.Join(err, s.stop())
		}
	case err == nil && len(s.errs) == 0:
		s.clean()
	}
	return folder.Rows(), errors.Join(append(s.errs, err)...)
}

// describe makes the jobs and the name of the sweep, which is a hash of all of them.
func (s *sweep) describe() error {
	h, known := sha256.New(), map[string]dataRef{}
	for i := range s.folder.Runs {
		r := &s.folder.Runs[i]
		text, err := r.Config.Encode()
		if err != nil {
			return err
		}
		j := &job{Run: i, Name: r.Name(), Config: string(text)}
		if s.MapPaths != nil {
			cfg := r.Config
			err = s.MapPaths(&cfg, func(path string) (string, error) {
				ref, ok := known[path]
				if !ok {
					s.Log.Info("computing the hash of the data", "path", path)
					if ref, err = describe(path); err != nil {
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
		j.Sweep, j.Program = s.id, program.Version()
	}
	return nil
}

// run queues the runs and collects their results, until there are none left or ctx ends.
func (s *sweep) run(ctx context.Context) error {
	if err := s.storeData(ctx); err != nil {
		return err
	}
	if err := s.enqueue(ctx); err != nil {
		return err
	}
	for len(s.open) > 0 && ctx.Err() == nil {
		err := s.watch(ctx, s.id+".*", poll, func(got jetstream.KeyValueEntry) (bool, error) {
			err := s.changed(ctx, got)
			return len(s.open) > 0, err
		})
		if errors.As(err, new(brokerError)) {
			s.Log.Warn("broker", "error", err)
			sleep(ctx, time.Second)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// storeData stores the data of the runs that the broker does not have.
func (s *sweep) storeData(ctx context.Context) error {
	for i := range s.open {
		for _, ref := range s.jobs[i].Data {
			name := ref.object(s.id)
			if _, err := s.objects.GetInfo(ctx, name); err == nil {
				continue
			}
			s.Log.Info("storing data", "path", ref.Path)
			if err := putPacked(ctx, s.objects, name, ref.Path); err != nil {
				return fmt.Errorf("cluster: data %s: %w", ref.Path, err)
			}
		}
	}
	return nil
}

// enqueue queues the runs that have no result. A run that failed before is tried again.
func (s *sweep) enqueue(ctx context.Context) error {
	for i, j := range s.jobs {
		if !s.open[i] {
			continue
		}
		e, rev, err := read(ctx, s.kv, j.key())
		switch {
		case errors.Is(err, errLost):
			err = s.begin(ctx, i)
		case err == nil && e.Status == failed:
			e.Status, e.Claims, e.Error = queued, 0, ""
			_, err = write(ctx, s.kv, j.key(), e, rev)
		}
		if err != nil && !conflict(err) {
			return err
		}
	}
	s.show()
	return nil
}

// begin makes the job and the entry of a run. A run in the folder of the sweep that another program
// has begun is an error.
func (s *sweep) begin(ctx context.Context, i int) error {
	j := s.jobs[i]
	if err := train.CheckFolder(s.folder.Runs[i].Dir); err != nil {
		return fmt.Errorf("%w; complete this run with s4d-fast sweep --part, or remove its folder", err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if _, err := s.kv.Put(ctx, jobPrefix+j.key(), text); err != nil {
		return brokerError{fmt.Errorf("cluster: job %s: %w", j.key(), err)}
	}
	e := entry{Version: version, Name: j.Name, Status: queued, Lease: cmp.Or(s.Lease, 10*time.Second)}
	_, err = write(ctx, s.kv, j.key(), e, 0)
	return err
}
