package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readAll handles the entries of all open runs.
func (s *sweep) readAll(ctx context.Context) error {
	for i, j := range s.jobs {
		if !s.open[i] {
			continue
		}
		e, rev, err := read(ctx, s.kv, j.key())
		if errors.Is(err, errOver) { // the broker has lost it
			err = s.begin(ctx, i)
		} else if err == nil {
			err = s.settle(ctx, i, e, rev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changed handles a new entry.
func (s *sweep) changed(ctx context.Context, key string, text []byte, rev uint64) error {
	i, err := strconv.Atoi(strings.TrimPrefix(key, entryPrefix+s.id+"."))
	if err != nil || !s.open[i] {
		return nil
	}
	e, err := parseEntry(text)
	if err != nil {
		return err
	}
	return s.settle(ctx, i, e, rev)
}

// settle shows the state of a run, and stores its result if it has ended.
func (s *sweep) settle(ctx context.Context, i int, e entry, rev uint64) error {
	s.note(i, e)
	switch e.Status {
	case done:
		err := s.collect(ctx, i, e)
		if gone(err) {
			s.Log.Warn("the run starts again", "name", e.Name, "reason", err)
			e.Status, e.Owner, e.Files, e.Result, e.progress = queued, "", nil, nil, progress{}
			_, err = write(ctx, s.kv, s.jobs[i].key(), e, rev)
			return err
		}
		if err != nil {
			return err
		}
		delete(s.open, i)
	case failed:
		delete(s.open, i)
		s.errs = append(s.errs, fmt.Errorf("%s: %s", e.Name, e.Error))
	case stopped: // by a coordinator that was cancelled
		if ctx.Err() == nil {
			e.Status = queued
			_, err := write(ctx, s.kv, s.jobs[i].key(), e, rev)
			return err
		}
	}
	s.show()
	return nil
}

// note sets the state of a run.
func (s *sweep) note(i int, e entry) {
	st := &s.state[i]
	*st = Status{Name: st.Name, State: e.Status, Worker: e.Worker, Level: strings.Join(e.Levels, "+"),
		Step: e.Step, Steps: e.Steps, Epoch: e.Epoch, Epochs: e.Epochs, Result: e.Validation}
	switch {
	case e.Status == failed:
		st.Result = e.Error
	case e.Status == done && e.Result.Diverged:
		st.Result = "diverged"
	case e.Status == done && e.Result.Best != nil:
		st.Result = e.Result.Best.Validation()
	}
}

func (s *sweep) show() {
	if s.Watch != nil {
		s.Watch(slices.Clone(s.state))
	}
}

// collect copies the files of a run into its folder, and its row into the table.
func (s *sweep) collect(ctx context.Context, i int, e entry) error {
	transfer, cancel := s.connected(ctx)
	defer cancel()
	if err := get(transfer, s.objects, s.folder.Runs[i].Dir, e.Files); err != nil {
		return err
	}
	return s.folder.Record(i, e.row())
}

// drainTime is the time for workers to store their checkpoints after a cancellation.
const drainTime = time.Minute

// drain stops the runs of a sweep that was cancelled, and waits until their workers have stored
// checkpoints.
func (s *sweep) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for told := false; ; {
		busy := 0
		for i, j := range s.jobs {
			if !s.open[i] {
				continue
			}
			waits, err := s.stop(ctx, i, j.key())
			if err != nil && !errors.Is(err, errOver) {
				return fmt.Errorf("the state of the workers: %w", err)
			}
			if waits {
				busy++
			}
		}
		s.show()
		if busy == 0 {
			return nil
		}
		if !told {
			s.Log.Info("waiting for workers to store checkpoints; a second Ctrl-C does not wait", "workers", busy)
		}
		if told = true; !sleep(ctx, time.Second/4) {
			s.Log.Warn("some workers have not answered; their runs stop when they do", "runs", busy)
			return nil
		}
	}
}

// stop stops a run, and reports whether its worker has not answered.
func (s *sweep) stop(ctx context.Context, i int, key string) (busy bool, err error) {
	e, rev, err := read(ctx, s.kv, key)
	if err != nil {
		return false, err
	}
	switch e.Status {
	case done:
		return false, s.settle(ctx, i, e, rev)
	case queued:
		e.Status = stopped
	case running:
		e.Status, busy = stopping, true
	default:
		s.note(i, e)
		return e.Status == stopping, nil
	}
	if _, err = write(ctx, s.kv, key, e, rev); conflict(err) {
		return true, nil // by its worker: the next call tries again
	}
	s.note(i, e)
	return busy, err
}

// clean deletes the sweep from the broker. The results are in the folder; what cannot be deleted is
// only a waste of space.
func (s *sweep) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, j := range s.jobs {
		_ = s.kv.Purge(ctx, entryPrefix+j.key())
		_ = s.kv.Purge(ctx, jobPrefix+j.key())
	}
	objects, _ := s.objects.List(ctx)
	for _, o := range objects {
		if strings.HasPrefix(o.Name, s.id+".") {
			_ = s.objects.Delete(ctx, o.Name)
		}
	}
}
