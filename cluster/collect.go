package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// changed handles a new entry.
func (s *sweep) changed(ctx context.Context, got jetstream.KeyValueEntry) error {
	i, err := strconv.Atoi(strings.TrimPrefix(got.Key(), entryPrefix+s.id+"."))
	if err != nil || !s.open[i] {
		return nil
	}
	e, err := parseEntry(got.Value())
	if err != nil { // another machine's word ends its run, not the sweep
		e = entry{Name: s.state[i].Name, Status: failed, Error: err.Error()}
	}
	return s.settle(ctx, i, e, got.Revision())
}

// settle shows the state of a run, and stores its result if it has ended.
func (s *sweep) settle(ctx context.Context, i int, e entry, rev uint64) error {
	s.note(i, e)
	switch e.Status {
	case done:
		err := s.collect(ctx, i, e)
		if gone(err) { // the next worker finds that, too, and starts the run again
			e.Status, e.Owner, e.Result = queued, "", nil
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
	row := *e.Result
	row.Level = strings.Join(e.Levels, "+")
	return s.folder.Record(i, row)
}

// stop stops the runs of a sweep that was cancelled. Their workers store checkpoints when they read
// the entry.
func (s *sweep) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*requestTime)
	defer cancel()
	for i, j := range s.jobs {
		for s.open[i] {
			e, rev, err := read(ctx, s.kv, j.key())
			if errors.Is(err, errLost) { // not queued yet
				break
			}
			switch e.Status {
			case queued:
				e.Status = stopped
			case running:
				e.Status = stopping
			case done:
				err = s.settle(ctx, i, e, rev)
			}
			if err == nil && s.open[i] {
				_, err = write(ctx, s.kv, j.key(), e, rev)
			}
			if conflict(err) { // with its worker
				continue
			}
			if err != nil {
				return fmt.Errorf("the runs were not stopped: %w", err)
			}
			s.note(i, e)
			break
		}
	}
	s.show()
	return nil
}

// clean deletes the sweep from the broker. The results are in the folder; what cannot be deleted is
// only a waste of space.
func (s *sweep) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
