package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// changed handles a new entry.
func (s *sweep) changed(ctx context.Context, key string, text []byte) error {
	i, err := strconv.Atoi(strings.TrimPrefix(key, s.id+"."))
	if err != nil || !s.open[i] {
		return nil
	}
	e, err := parseEntry(text)
	if err != nil {
		return err
	}
	return s.settle(ctx, i, e)
}

// settle shows the state of a run, and stores its result if it has ended.
func (s *sweep) settle(ctx context.Context, i int, e entry) error {
	s.note(i, e)
	st := &s.state[i]
	switch e.Status {
	case done:
		if e.Result == nil {
			return fmt.Errorf("cluster: %s is done without a result", e.Name)
		}
		err := s.collect(ctx, i, e)
		if gone(err) {
			s.Log.Warn("the run starts again", "name", e.Name, "reason", err)
			return s.restart(ctx, i)
		}
		if err != nil {
			return err
		}
		delete(s.open, i)
		if st.Result = "diverged"; !e.Result.Diverged && e.Result.Best != nil {
			st.Result = e.Result.Best.Validation()
		}
	case failed:
		delete(s.open, i)
		st.Result = e.Error
		s.errs = append(s.errs, fmt.Errorf("%s: %s", e.Name, e.Error))
	}
	s.show()
	return nil
}

// note sets the state of a run.
func (s *sweep) note(i int, e entry) {
	st := &s.state[i]
	if e.Worker != st.Worker || e.Status == queued {
		st.Result = ""
	}
	st.State, st.Worker, st.Level, st.Step = e.Status, e.Worker, strings.Join(e.Levels, "+"), max(st.Step, e.Step)
}

// restart queues a run that is done, but whose files are missing.
func (s *sweep) restart(ctx context.Context, i int) error {
	e, rev, err := read(ctx, s.kv, s.jobs[i].key())
	if err == nil && e.Status == done {
		e.Status, e.Lease, e.Files, e.Step, e.Result = queued, "", nil, 0, nil
		_, err = write(ctx, s.kv, s.jobs[i].key(), e, rev)
	}
	if err == nil {
		err = s.publish(ctx, s.jobs[i])
	}
	return err
}

// collect copies the files of a run into its folder, and its row into the table.
func (s *sweep) collect(ctx context.Context, i int, e entry) error {
	dir := s.folder.Runs[i].Dir
	transfer, cancel := s.connected(ctx)
	defer cancel()
	if err := getFolder(transfer, atomicfile.System(), s.objects, dir, e.Files); err != nil {
		return err
	}
	return s.folder.Record(i, e.row())
}

// getFolder replaces a folder by the files of a run. After a crash, recoverFolders leaves the older
// folder, or none if there was none, or the newer one. When getFolder has returned without an
// error, the newer files outlast a power cut.
func getFolder(ctx context.Context, disk atomicfile.Files, objects jetstream.ObjectStore, dir string, files []file) error {
	parent, name := filepath.Split(dir)
	temporary, older := filepath.Join(parent, incoming+name), filepath.Join(parent, replaced+name)
	err := disk.RemoveAll(temporary)
	if err == nil {
		err = disk.MkdirAll(temporary, 0o755)
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer disk.RemoveAll(temporary)
	if err := get(ctx, disk, objects, temporary, files, nil); err != nil {
		return err
	}
	if err = disk.Rename(dir, older); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = disk.Rename(temporary, dir)
	}
	if err = errors.Join(err, recoverFolder(disk, older, dir)); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// recoverFolder ends the replacement of a folder: it removes the older folder if there is a newer
// one, and otherwise restores it. What it leaves outlasts a power cut, except that the removed
// folder may return.
func recoverFolder(disk atomicfile.Files, older, dir string) error {
	_, err := disk.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = disk.Rename(older, dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err == nil {
		err = disk.SyncFolder(filepath.Dir(dir))
	}
	if err == nil {
		err = disk.RemoveAll(older)
	}
	return err
}

// What begins the names of folders whose files are not complete, and of those that are being
// replaced.
const (
	incoming = ".incoming-"
	replaced = ".replaced-"
)

// maxName is the length in bytes of the longest name of a run's folder. File systems allow 255
// bytes, and collecting a run adds a prefix.
const maxName = 255 - len(incoming)

// recoverFolders removes or restores the folders that a crash left in the folder of a sweep.
func recoverFolders(disk atomicfile.Files, dir string) error {
	entries, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if name, ok := strings.CutPrefix(e.Name(), replaced); ok {
			err = errors.Join(err, recoverFolder(disk, path, filepath.Join(dir, name)))
		} else if strings.HasPrefix(e.Name(), incoming) {
			err = errors.Join(err, disk.RemoveAll(path))
		}
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// report handles a message about the progress of a run.
func (s *sweep) report(text []byte) {
	r, err := parseReport(text)
	if err != nil || !s.open[r.Run] {
		return
	}
	st := &s.state[r.Run]
	if st.State != running || st.Worker != r.Worker { // of a worker that has lost the run
		return
	}
	st.Step, st.Steps, st.Epoch, st.Epochs = r.Step, r.Steps, r.Epoch, r.Epochs
	if r.Result != "" {
		st.Result = r.Result
	}
	s.show()
}

func (s *sweep) show() {
	if s.Watch != nil {
		s.Watch(slices.Clone(s.state))
	}
}

// drainTime is the time for workers to store their checkpoints after a cancellation.
const drainTime = time.Minute

// drain cancels the sweep: its jobs leave the queue, and workers stop after a checkpoint.
func (s *sweep) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if _, err := s.kv.Put(ctx, stopKey(s.id), nil); err != nil {
		return fmt.Errorf("%w; the runs stay in the queue: %w", errInterrupted, err)
	}
	if queue, err := s.js.Stream(ctx, runsStream); err == nil {
		_ = queue.Purge(ctx, jetstream.WithPurgeSubject(runsSubject+s.id+".*"))
	}
	watch, err := s.kv.Watch(ctx, s.id+".*")
	if err != nil {
		return fmt.Errorf("%w; the state of the workers: %w", errInterrupted, err)
	}
	defer watch.Stop()
	busy := map[int]bool{}
	for known := false; ; {
		var got jetstream.KeyValueEntry
		ok := false
		select {
		case <-ctx.Done():
			s.Log.Warn("some workers have not answered; their runs stop when they do", "runs", len(busy))
			return errInterrupted
		case got, ok = <-watch.Updates():
			if !ok {
				return fmt.Errorf("%w; the connection to the broker was closed", errInterrupted)
			}
		}
		if got == nil { // all entries have been read
			if known = true; len(busy) > 0 {
				s.Log.Info("waiting for workers to store checkpoints; a second Ctrl-C does not wait", "workers", len(busy))
			}
		} else if i, err := strconv.Atoi(strings.TrimPrefix(got.Key(), s.id+".")); err == nil && s.open[i] {
			e, err := parseEntry(got.Value())
			if busy[i] = err == nil && e.Status == running; !busy[i] {
				delete(busy, i)
			}
			if err == nil && e.Status == done {
				err = s.settle(ctx, i, e)
				if err != nil {
					return errors.Join(errInterrupted, err)
				}
			} else if err == nil {
				s.note(i, e)
				s.show()
			}
		}
		if known && len(busy) == 0 {
			return errInterrupted
		}
	}
}

// clean deletes the sweep from the broker. The results are in the folder; what cannot be deleted is
// only a waste of space.
func (s *sweep) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if queue, err := s.js.Stream(ctx, runsStream); err == nil {
		_ = queue.Purge(ctx, jetstream.WithPurgeSubject(runsSubject+s.id+".*"))
	}
	for _, j := range s.jobs {
		_ = s.kv.Purge(ctx, j.key())
	}
	objects, _ := s.objects.List(ctx)
	for _, o := range objects {
		if strings.HasPrefix(o.Name, s.id+".") {
			_ = s.objects.Delete(ctx, o.Name)
		}
	}
}
