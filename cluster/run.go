package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

// run is a run that a worker trains.
type run struct {
	*Worker
	store *store
	job   *job
	lease *lease
	log   *slog.Logger // of the worker and, while it trains, of the run's folder

	mu  sync.Mutex
	now progress
}

// guarded trains the run while it renews the lease. It stops as soon as another worker has the run,
// or the coordinator cancels the sweep.
func (r *run) guarded(ctx context.Context) error {
	inner, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for sleep(inner, r.lease.entry().Lease/3) {
			if err := r.renew(inner); err != nil {
				cancel(err)
			}
		}
	})
	err := r.train(inner)
	if cause := context.Cause(inner); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	cancel(nil)
	renewing.Wait()
	defer os.RemoveAll(r.runDir())
	switch {
	case err == nil || errors.Is(err, errLost):
		return err
	case errors.Is(err, errStop):
		return r.release(stopped, err)
	case ctx.Err() != nil:
		return r.release(queued, train.ErrInterrupted)
	case errors.As(err, new(brokerError)):
		return r.release(queued, err)
	}
	return r.fail(err)
}

// renew writes the progress into the entry. It ignores errors of the broker, because the run
// continues until another worker has it.
func (r *run) renew(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r.mu.Lock()
	now := r.now
	r.mu.Unlock()
	err := r.lease.update(ask, func(e *entry) { e.progress = now })
	if errors.Is(err, errLost) {
		return err
	}
	return r.cancelled()
}

// cancelled returns errStop if the coordinator has cancelled the sweep.
func (r *run) cancelled() error {
	if r.lease.entry().Status == stopping {
		return errStop
	}
	return nil
}

// train resumes the run in the worker's folder and trains it to its end.
func (r *run) train(ctx context.Context) error {
	here, err := r.job.config()
	if err != nil {
		return err
	}
	if err := r.restore(ctx); err != nil {
		return err
	}
	own, closeLog, err := r.openLog()
	if err != nil {
		return err
	}
	defer closeLog()
	if r.MapPaths != nil { // to paths of this machine
		if err := r.MapPaths(&here, func(path string) (string, error) { return r.data(ctx, path) }); err != nil {
			return err
		}
	}
	here.Workers = cmp.Or(r.Threads, here.Workers)
	data, err := r.Load(ctx, here)
	if err != nil {
		return err
	}
	for _, note := range data.Notes {
		r.log.Info(note)
	}
	var t *train.Trainer
	opt := train.Options{Dir: r.runDir(), Resume: len(r.lease.entry().Files) > 0, Reporter: &reporter{Reporter: r.Reporter, run: r, log: train.LogLines(own)},
		Saved: func() error { return r.saved(ctx, t) }}
	if t, err = train.New(ctx, here, data, opt); err != nil {
		return err
	}
	defer t.Close()
	own.Info("run", "worker", r.Name, "level", level.Current(), "step", t.Step())
	for _, warning := range t.Warnings() {
		r.log.Warn(warning)
	}
	err = t.Fit(ctx)
	diverged := errors.Is(err, train.ErrDiverged)
	if err != nil && !diverged {
		return err
	}
	own.Info("run complete", "step", t.Step(), "diverged", diverged)
	row := &train.SweepRow{Diverged: diverged, Best: t.BestEpoch()}
	if test := t.Test(); test != nil {
		row.Test = &train.Result{Accuracy: test.Accuracy, RMSE: test.RMSE} // numbers that JSON holds
	}
	return r.finish(ctx, t, row)
}

// restore gets the last checkpoint. Without one, the run starts from the beginning.
func (r *run) restore(ctx context.Context) error {
	transfer, cancel := r.store.connected(ctx)
	defer cancel()
	err := get(transfer, r.store.objects, r.runDir(), r.lease.entry().Files)
	if gone(err) {
		r.log.Warn("the run starts again", "name", r.job.Name, "reason", err)
		if err = os.RemoveAll(r.runDir()); err == nil {
			err = r.lease.update(ctx, func(e *entry) { e.Files, e.Levels, e.progress = nil, nil, progress{} })
		}
	}
	return err
}

// openLog opens the log in the run folder, to which r.log then writes too.
func (r *run) openLog() (own *slog.Logger, closeLog func(), err error) {
	var f *os.File
	if err = os.MkdirAll(r.runDir(), 0o755); err == nil {
		f, err = os.OpenFile(filepath.Join(r.runDir(), logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	own = slog.New(slog.NewTextHandler(f, nil))
	worker := r.log
	r.log = slog.New(slog.NewMultiHandler(worker.Handler(), own.Handler()))
	return own, func() { r.log = worker; f.Close() }, nil
}

// data returns a path of this machine with the data at a path of the coordinator's.
func (r *run) data(ctx context.Context, path string) (string, error) {
	i := slices.IndexFunc(r.job.Data, func(d dataRef) bool { return d.Path == path })
	if i < 0 {
		return "", fmt.Errorf("cluster: %s: the job lacks the data %.200q", r.job.Name, path)
	}
	ref := r.job.Data[i]
	return r.cache.path(ref, func(dir string) error {
		r.log.Info("fetching data", "path", ref.Path)
		transfer, cancel := r.store.connected(ctx)
		defer cancel()
		in, err := r.store.objects.Get(transfer, ref.object(r.job.Sweep))
		if err == nil {
			defer in.Close()
			err = unpack(in, dir)
		}
		if err != nil {
			return brokerError{err}
		}
		return nil
	})
}

// saved stores the checkpoint in the run folder. While the broker cannot be reached, training goes
// on without.
func (r *run) saved(ctx context.Context, t *train.Trainer) error {
	err := r.storeFiles(context.WithoutCancel(ctx), t, nil)
	if errors.Is(err, errLost) {
		return err
	}
	if err != nil {
		r.log.Warn("checkpoint not stored", "name", r.job.Name, "step", t.Step(), "error", err)
	}
	return r.cancelled()
}

// finish stores the result. After an error of the broker it tries again, until the broker has the
// result, another worker has the run, or ctx ends.
func (r *run) finish(ctx context.Context, t *train.Trainer, row *train.SweepRow) error {
	for {
		err := r.storeFiles(context.WithoutCancel(ctx), t, row)
		if !errors.As(err, new(brokerError)) {
			return err
		}
		r.log.Warn("result not stored", "name", r.job.Name, "error", err)
		if !sleep(ctx, 5*time.Second) {
			return err
		}
	}
}

// storeFiles stores the files of the run folder, and then the entry that names them. The objects
// of another worker have other names, so a worker that has lost the run overwrites none.
func (r *run) storeFiles(ctx context.Context, t *train.Trainer, row *train.SweepRow) error {
	c, err := r.job.config() // with the coordinator's paths and what the data have set
	if err != nil {
		return err
	}
	used := t.Config()
	used.Data = c.Data
	text, err := used.Encode()
	if err != nil {
		return err
	}
	old := r.lease.entry().Files
	transfer, cancel := r.store.connected(ctx)
	defer cancel()
	files, err := put(transfer, r.store.objects, r.runDir(), r.job.key()+"."+r.lease.id, old, text)
	if err != nil {
		return err
	}
	ask, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	err = r.lease.update(ask, func(e *entry) {
		e.Files, e.Step, e.Claims = files, t.Step(), 1
		if !slices.Contains(e.Levels, level.Current()) {
			e.Levels = append(slices.Clip(e.Levels), level.Current())
		}
		if row != nil {
			e.Status, e.Result = done, row
		}
	})
	if err == nil {
		remove(ctx, r.store.objects, old, files)
	}
	return err
}

// release gives the run back. It returns why, or the error of the broker.
func (r *run) release(status string, why error) error {
	return r.leave(why, func(e *entry) { e.Status, e.Owner, e.Worker, e.Claims = status, "", "", 0 })
}

// fail records an error of the run and returns it. After some, the run is not tried again.
func (r *run) fail(why error) error {
	return r.leave(why, func(e *entry) {
		e.Status, e.Owner, e.Error = queued, "", fmt.Sprintf("%v (worker %s)", why, r.Name)
		if e.Claims >= maxErrors {
			e.Status = failed
		}
	})
}

func (r *run) leave(why error, change func(*entry)) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	if err := r.lease.update(ctx, change); errors.Is(err, errLost) {
		return err
	}
	return why
}

// reporter notes the progress of a run, and passes it on.
type reporter struct {
	train.Reporter
	run *run
	log train.Reporter // to the log of the run
}

func (p *reporter) Step(now train.Progress) {
	p.run.mu.Lock()
	p.run.now = progress{now.Step, now.Steps, now.Epoch, now.Epochs, p.run.now.Validation}
	p.run.mu.Unlock()
	p.Reporter.Step(now)
}

func (p *reporter) Epoch(m train.Metrics, better bool) {
	p.log.Epoch(m, better)
	p.run.mu.Lock()
	p.run.now.Validation = m.Validation()
	p.run.mu.Unlock()
	p.Reporter.Epoch(m, better)
}
