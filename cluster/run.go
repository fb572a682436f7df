package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

// Causes of the end of a run's context.
var (
	errDrain = errors.New("the sweep was cancelled")
	errStall = errors.New("no progress for too long")
)

// brokerError is an error for which neither the run nor its data are to blame.
type brokerError struct{ error }

func (e brokerError) Unwrap() error { return e.error }

func levelName() string { return string(level.Current()) }

// run is a run that a worker trains.
type run struct {
	*Worker
	job   *job
	lease *lease
	log   *slog.Logger // of the worker and, while it trains, of the run's folder

	began  time.Time
	active atomic.Int64 // time of the last sign of life, in nanoseconds
	told   time.Time    // of the last progress message
	away   bool         // the broker could not be reached for the last checkpoint
}

func (r *run) alive() { r.active.Store(int64(time.Since(r.began))) }

// step returns a function that is a sign of life, and that fails when ctx ends.
func (r *run) step(ctx context.Context) func() error {
	return func() error {
		r.alive()
		return ctx.Err()
	}
}

// guarded trains the run while it renews the message. It stops as soon as another worker has the
// run, or the coordinator cancels the sweep.
func (r *run) guarded(ctx context.Context, msg jetstream.Msg, ackWait time.Duration) error {
	inner, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(inner, renewEvery(ackWait)) {
			if err := r.renew(inner, msg); err != nil {
				cancel(err)
			}
		}
	}()
	err := r.train(inner)
	cause := context.Cause(inner)
	cancel(nil)
	<-ended
	dir := r.runDir()
	defer os.RemoveAll(dir)
	switch {
	case errors.Is(err, errLost), errors.Is(err, errOver):
		return err
	case errors.Is(cause, errLost), errors.Is(cause, errOver):
		return cause
	case err == nil:
		return nil
	case errors.Is(cause, errDrain):
		return r.release(stopped, errDrain)
	case errors.Is(cause, errStall):
		return r.fail(fmt.Errorf("cluster: %s: %w (%v)", r.job.Name, errStall, r.Stall))
	case ctx.Err() != nil:
		return r.release(queued, train.ErrInterrupted)
	case errors.As(err, new(brokerError)):
		return r.release(queued, err)
	}
	return r.fail(err)
}

// renewEvery returns the time between two renewals. A later sweep may shorten a lease of more than
// usualLease to that without an effect on the run.
func renewEvery(lease time.Duration) time.Duration { return min(lease, usualLease) / 3 }

// renew keeps the message from being delivered again. An error of the broker is none: the run goes
// on until another worker has it.
func (r *run) renew(ctx context.Context, msg jetstream.Msg) error {
	if time.Since(r.began)-time.Duration(r.active.Load()) > r.Stall {
		return errStall
	}
	ask, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := r.lease.check(ask); errors.Is(err, errLost) || errors.Is(err, errOver) {
		return err
	}
	if err := r.cancelled(ask); err != nil {
		return err
	}
	_ = msg.InProgress()
	return nil
}

// cancelled returns errDrain if the coordinator has cancelled the sweep.
func (r *run) cancelled(ctx context.Context) error {
	if _, err := r.store.kv.Get(ctx, stopKey(r.job.Sweep)); err == nil {
		return errDrain
	}
	return nil
}

// stopKey is the key whose presence cancels a sweep.
func stopKey(sweep string) string { return sweep + ".stop" }

// train resumes the run in the worker's folder and trains it to its end.
func (r *run) train(ctx context.Context) error {
	cfg, err := r.job.config()
	if err != nil {
		return err
	}
	transfer, cancel := r.store.connected(ctx)
	err = get(transfer, atomicfile.System(), r.store.objects, r.runDir(), r.lease.entry().Files, r.step(transfer))
	cancel()
	if gone(err) {
		r.log.Warn("the run starts again", "name", r.job.Name, "reason", err)
		if err = os.RemoveAll(r.runDir()); err == nil {
			err = r.lease.update(ctx, func(e *entry) { e.Files, e.Levels, e.Step = nil, nil, 0 })
		}
	}
	if err != nil {
		return err
	}
	own, closeLog, err := r.openLog()
	if err != nil {
		return err
	}
	defer closeLog()
	own.Info("run", "worker", r.Name, "level", levelName(), "step", r.lease.entry().Step)
	here := cfg // with the paths of this machine
	r.cache.begin(r.job)
	if r.MapPaths != nil {
		if err := r.MapPaths(&here, func(path string) (string, error) { return r.data(ctx, path) }); err != nil {
			return err
		}
	}
	if r.Threads != 0 {
		here.Workers = r.Threads
	}
	data, err := r.Load(ctx, here)
	if err != nil {
		return err
	}
	for _, note := range data.Notes {
		own.Info(note)
	}
	r.alive()
	_, missing := os.Stat(filepath.Join(r.runDir(), train.RunFiles()[0]))
	var t *train.Trainer
	opt := train.Options{Dir: r.runDir(), Resume: missing == nil, Reporter: &progress{Reporter: r.Reporter, run: r, log: train.LogLines(own)}, Evaluated: r.alive, Saved: func() error {
		r.alive()
		return r.saved(ctx, t)
	}}
	if t, err = train.New(ctx, here, data, opt); err != nil {
		return err
	}
	defer t.Close()
	for _, warning := range t.Warnings() {
		r.log.Warn(warning)
	}
	err = t.Fit(ctx)
	diverged := errors.Is(err, train.ErrDiverged)
	if err != nil && !diverged {
		return err
	}
	own.Info("run complete", "step", t.Step(), "diverged", diverged)
	return r.finish(ctx, t, resultOf(t, diverged))
}

// openLog opens the log in the run folder, to which r.log then writes too.
func (r *run) openLog() (own *slog.Logger, closeLog func(), err error) {
	err = os.MkdirAll(r.runDir(), 0o755)
	var f *os.File
	if err == nil {
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
	r.alive()
	defer r.alive()
	return r.cache.path(ctx, ref, r.step(ctx), func(ctx context.Context, dir string) error {
		r.log.Info("fetching data", "path", ref.Path, "bytes", ref.Size)
		return r.fetch(ctx, ref, dir)
	})
}

// fetch gets the data from the object store. If they are not there, it asks the coordinator to put
// them there.
func (r *run) fetch(ctx context.Context, ref dataRef, dir string) error {
	name := ref.object(r.job.Sweep)
	limit := transferTime(ref.Size)
	if _, err := r.store.objects.GetInfo(ctx, name); errors.Is(err, jetstream.ErrObjectNotFound) {
		ask, cancel := context.WithTimeout(ctx, limit)
		go func() { // the request ends at its own limit
			for sleep(ask, r.Stall/4) {
				r.alive()
			}
		}()
		answer, err := r.store.nc.RequestWithContext(ask, dataOf+r.job.Sweep, []byte(ref.Hash))
		cancel()
		if err != nil {
			return brokerError{fmt.Errorf("cluster: data %s are not on this machine, and the coordinator does not answer: %w", ref.Path, err)}
		}
		if len(answer.Data) > 0 {
			return fmt.Errorf("cluster: data %s are not on this machine, and the coordinator cannot send them: %s", ref.Path, answer.Data)
		}
	}
	r.alive()
	transfer, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	in, err := r.store.objects.Get(transfer, name)
	if err != nil {
		return brokerError{fmt.Errorf("cluster: data %s: %w", ref.Path, err)}
	}
	defer in.Close()
	err = unpack(stepReader{in, r.step(ctx)}, dir, ref.base(), ref.Size)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // at its end the client checks the digest
	}
	if gone(in.Error()) {
		_ = r.store.objects.Delete(ctx, name) // the next attempt asks the coordinator again
	}
	if err != nil {
		if in.Error() != nil {
			return brokerError{err}
		}
		return err
	}
	return nil
}

// saved stores the checkpoint in the run folder. While the broker cannot be reached, training goes
// on without.
func (r *run) saved(ctx context.Context, t *train.Trainer) error {
	if r.store.nc.Status() != nats.CONNECTED {
		if !r.away {
			r.log.Warn("the NATS server cannot be reached: training continues without storing checkpoints", "name", r.job.Name, "step", t.Step())
		}
		r.away = true
		return nil
	}
	r.away = false
	err := r.storeFiles(context.WithoutCancel(ctx), t, nil)
	if errors.Is(err, errLost) || errors.Is(err, errOver) {
		return err
	}
	if err != nil {
		r.log.Warn("checkpoint not stored", "name", r.job.Name, "step", t.Step(), "error", err)
	}
	return nil
}

// finish stores the result. After an error of the broker it tries again, until the broker has the
// result, another worker has the run, or ctx ends.
func (r *run) finish(ctx context.Context, t *train.Trainer, res *result) error {
	for logged := ""; ; {
		r.alive()
		err := r.storeFiles(context.WithoutCancel(ctx), t, res)
		if !errors.As(err, new(brokerError)) {
			return err
		}
		if text := err.Error(); text != logged {
			logged = text
			r.log.Warn("result not stored", "name", r.job.Name, "error", err)
		}
		if !sleep(ctx, time.Second) {
			return err
		}
	}
}

// storeFiles stores the files of the run folder, and then the entry that names them.
func (r *run) storeFiles(ctx context.Context, t *train.Trainer, res *result) error {
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
	files, err := put(transfer, r.store.objects, r.runDir(), fmt.Sprintf("%s.%s", r.job.key(), r.lease.id), old, map[string][]byte{train.RunFiles()[0]: text})
	if err != nil {
		return err
	}
	ask, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	err = r.lease.update(ask, func(e *entry) {
		e.Files, e.Step, e.Claims = files, t.Step(), 1
		if !slices.Contains(e.Levels, levelName()) {
			e.Levels = append(slices.Clip(e.Levels), levelName())
		}
		if res != nil {
			e.Status, e.Result = done, res
		}
	})
	switch {
	case err == nil:
		remove(ctx, r.store.objects, old, files)
	case errors.Is(err, errLost), errors.Is(err, errOver):
		// An earlier write that seemed to fail may have succeeded: the next worker has its files.
		if e, _, now := read(ask, r.store.kv, r.job.key()); now == nil || errors.Is(now, errOver) {
			remove(ctx, r.store.objects, files, append(slices.Clone(old), e.Files...))
		}
	}
	return err
}

// release gives the run back. It returns why, or the error of the broker.
func (r *run) release(status string, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	err := r.lease.update(ctx, func(e *entry) { e.Status, e.Lease, e.Worker, e.Claims = status, "", "", 0 })
	if errors.Is(err, errLost) || errors.Is(err, errOver) {
		return err
	}
	return why
}

// fail records an error of the run and returns it. After some, the run is not tried again.
func (r *run) fail(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	n := r.lease.entry().Errors + 1
	if err := r.lease.update(ctx, func(e *entry) {
		e.Errors, e.Status, e.Error = n, queued, fmt.Sprintf("%v (worker %s)", why, r.Name)
		if n >= maxErrors {
			e.Status = failed
		}
	}); errors.Is(err, errLost) || errors.Is(err, errOver) {
		return err
	}
	return why
}
