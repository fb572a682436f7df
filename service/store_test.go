package service

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

// openTestStore opens a store without a limit of bytes until the test ends.
func openTestStore(t *testing.T, dir string, perClient int) *store {
	t.Helper()
	s := must.Get(openStore(atomicfile.System(), dir, time.Hour, 1<<30, perClient, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(s.close)
	return s
}

// The store limits the bytes in total and the number of snapshots per client, whose oldest is
// evicted.
func TestStoreLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) {
			c.Snapshots, c.MaxPerClient, c.TokenHeader = t.TempDir(), 2, "Token"
		})
		for _, id := range []string{"one", "two", "three"} {
			in.interrupt(id, "Token", "a")
			time.Sleep(time.Second)
		}
		in.interrupt("other", "Token", "b")
		must.Equal(t, in.server.Stats().Snapshots, 3, "snapshots")
		size := in.server.Stats().SnapshotBytes / 3
		for id, want := range map[string]int64{"one": 0, "two": 800, "three": 800} {
			must.Equal(t, in.position(id, "Token", "a"), want, "%s resumes at sample", id)
		}
		in.stop()

		in = startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.MaxStore = t.TempDir(), 5*size/2 })
		for _, id := range []string{"one", "two", "three"} {
			in.interrupt(id)
		}
		must.Equal(t, in.server.Stats().Snapshots, 2, "snapshots")
		if n := in.server.Stats().SnapshotBytes; n > 5*size/2 {
			t.Errorf("%v bytes, expected at most %v", n, 5*size/2)
		}
		if n := in.position("three"); n != 0 {
			t.Errorf("a stream whose snapshot exceeds the limit resumes at sample %d", n)
		}
	})
}

// writeSnapshot writes a snapshot to a folder as a store does.
func writeSnapshot(t *testing.T, dir string, v snapshot) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(dir, rand.Text()+suffix), must.Get(encodeSnapshot(v))(t), 0o600))
}

// After the clock was set back, snapshots expire at their age at most, and free their bytes.
func TestExpiryAfterClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeSnapshot(t, dir, snapshot{Identity: identity{ID: "mine", Samples: 1}, Saved: time.Now().Add(24 * time.Hour)})
		s := openTestStore(t, dir, 5)
		must.Equal(t, len(s.list), 1, "snapshots after the start")
		s.max = s.total * 3 / 2
		time.Sleep(time.Hour + 1)
		must.Do(t, s.put(&stream{identity: identity{ID: "next", Samples: 1, End: &report.End{}}}))
		must.Equal(t, len(s.list), 1, "snapshots when the first has expired")
	})
}

// While a store is open, no change of the time of day affects the age of a snapshot, because the
// monotonic clock measures it.
func TestExpiryIsMonotonic(t *testing.T) {
	dir := t.TempDir()
	saved := time.Now().Add(-time.Minute)
	writeSnapshot(t, dir, snapshot{Identity: identity{ID: "mine", Samples: 1}, Saved: saved})
	e := openTestStore(t, dir, 5).list["mine"]
	if !strings.Contains(e.saved.String(), " m=") {
		t.Errorf("saved at %v, expected a monotonic reading", e.saved)
	}
	must.Equal(t, e.saved.Sub(saved).Round(time.Second), 0, "difference from the time in the snapshot")
}

// When a client leaves many streams at once, the list matches the folder and its limit.
func TestStoreConcurrent(t *testing.T) {
	recognizer := newRecognizer(t)
	dir := t.TempDir()
	for _, perClient := range []int{1, 3} {
		s := openTestStore(t, dir, perClient)
		for round := range 20 {
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					id := identity{ID: fmt.Sprint(round, "-", i), Client: "mine"}
					if err := s.put(&stream{identity: id, detector: recognizer.NewDetector()}); err != nil {
						t.Error(err)
					}
					s.get(id.ID, "mine")
					s.disconnect(id.ID)
				})
			}
			all.Wait()
			files := filesIn(t, dir)
			size := int64(0)
			for _, f := range files {
				info, _ := f.Info()
				size += info.Size()
				if info.Mode().Perm() != 0o600 {
					t.Fatalf("%s has mode %v", f.Name(), info.Mode())
				}
			}
			n, listed := s.size()
			if n != perClient || len(files) != perClient {
				t.Fatalf("%d listed, %d files; expected %d", n, len(files), perClient)
			}
			if listed != size {
				t.Fatalf("%d bytes are counted, the files have %d", listed, size)
			}
		}
		s.close()
	}
}

// A snapshot that cannot be written is not counted, and the stream keeps its previous one.
func TestStoreFails(t *testing.T) {
	st := &stream{identity: identity{ID: "mine"}, detector: newRecognizer(t).NewDetector()}
	s := openTestStore(t, filepath.Join(t.TempDir(), "a"), 1)
	must.Do(t, errors.Join(s.put(st), os.Rename(s.dir, s.dir+"b")))
	_, before := s.size()
	if err := s.put(st); err == nil {
		t.Error("written to a folder that does not exist")
	}
	must.Do(t, os.Rename(s.dir+"b", s.dir))
	if kept, err := s.get("mine", ""); kept == nil || err != nil {
		t.Errorf("%v, %v; expected the previous snapshot", kept, err)
	}
	if n, after := s.size(); n != 1 || after != before {
		t.Errorf("%d listed of %d bytes, expected 1 of %d", n, after, before)
	}
}

// obstruct makes the file of a stream's snapshot one that cannot be removed, even by root, until
// free is called.
func obstruct(t *testing.T, s *store, id string) (free func()) {
	t.Helper()
	file := s.list[id].file
	inside := filepath.Join(file, "inside")
	must.Do(t, errors.Join(os.Remove(file), os.MkdirAll(inside, 0o700)))
	return func() { os.Remove(inside) }
}

const notRemoved = "a file was not removed"

// A file that cannot be removed counts until it can. It is logged once and does not affect other
// streams.
func TestUnremovableFile(t *testing.T) {
	var log logBuffer
	recognizer := newRecognizer(t)
	s := must.Get(openStore(atomicfile.System(), t.TempDir(), time.Hour, 1<<30, 10, log.logger()))(t)
	defer s.close()
	put := func(id string) error {
		return s.put(&stream{identity: identity{ID: id}, detector: recognizer.NewDetector()})
	}
	check := func(when string, n int, size int64) {
		t.Helper()
		if gotN, got := s.size(); gotN != n || got != size {
			t.Errorf("%s: %d snapshots of %d bytes, expected %d of %d", when, gotN, got, n, size)
		}
	}
	must.Do(t, put("a"))
	size := s.total
	free := obstruct(t, s, "a")
	for i := range 3 {
		if err := put("a"); err != nil {
			t.Errorf("put %d: %v", i, err)
		}
		check("obstructed", 1, 2*size)
	}
	if kept, err := s.get("a", ""); kept == nil || err != nil {
		t.Errorf("get: %v, %v", kept, err)
	}
	s.disconnect("a")
	if kept, err := s.get("b", ""); kept != nil || err != nil {
		t.Errorf("get of an unknown stream: %v, %v", kept, err)
	}
	s.max = 3*size - 1
	if err := put("b"); err == nil {
		t.Error("written beyond the limit")
	}
	check("full", 1, 2*size)
	if n := log.count(notRemoved); n != 1 {
		t.Errorf("logged %d times, expected once", n)
	}
	free()
	s.deleteObsolete()
	check("free", 1, size)
	if files := filesIn(t, s.dir); len(files) != 1 {
		t.Errorf("%d files, expected 1", len(files))
	}
}

// A server with lower limits than its predecessor keeps the newest snapshots, whatever the folder's
// name. Of a client it keeps two times MaxPerClient.
func TestStoreLimitsAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a[b]*")
		change := func(c *Options) { c.Snapshots, c.TokenHeader = dir, "Token" }
		in := startService(t, toneModel(t, 0), change)
		for _, id := range []string{"one", "two", "three"} {
			in.interrupt(id, "Token", "a")
			time.Sleep(time.Second)
		}
		in.interrupt("other", "Token", "b")
		size := in.server.Stats().SnapshotBytes / 4
		in.stop()
		check := func(n int, listed int) {
			t.Helper()
			if files := filesIn(t, dir); len(files) != n || listed != n {
				t.Errorf("%d files, %v listed, expected %d", len(files), listed, n)
			}
		}
		check(4, 4)

		in = startService(t, toneModel(t, 0), func(c *Options) { change(c); c.MaxPerClient = 1 })
		check(3, in.server.Stats().Snapshots)
		in.stop()
		in = startService(t, toneModel(t, 0), func(c *Options) { change(c); c.MaxStore = 5 * size / 2 })
		check(2, in.server.Stats().Snapshots)
		for _, c := range []struct {
			id, client string
			samples    int64
		}{{"two", "a", 0}, {"three", "a", 800}, {"other", "b", 800}} {
			must.Equal(t, in.position(c.id, "Token", c.client), c.samples, "%s resumes at sample", c.id)
		}
	})
}

// If the disk fails after a snapshot was renamed, its file counts and is deleted later. It does not
// return after the stream has ended. No file is removed while the store is locked.
func TestFailedSnapshotDoesNotReturn(t *testing.T) {
	var log logBuffer
	f := memfs.New()
	open := func() *store {
		return must.Get(openStore(atomicfile.Files{FS: f}, storageFolder, time.Hour, 1<<30, 5, log.logger()))(t)
	}
	s := open()
	st := &stream{identity: identity{ID: "mine"}, detector: newRecognizer(t).NewDetector()}
	renamed := false
	f.Fault = func(_ int, operation, _ string) error {
		if renamed {
			if !s.mu.TryLock() {
				t.Errorf("%s while the store is locked", operation)
				return nil
			}
			s.mu.Unlock()
			return syscall.EIO
		}
		renamed = operation == "Rename"
		return nil
	}
	must.Fail(t, s.put(st), syscall.EIO.Error())
	must.Equal(t, log.count(notRemoved), 1, "records of the file")
	if n, size := s.size(); n != 0 || size == 0 {
		t.Errorf("%d snapshots of %d bytes, expected none, but the bytes of the file", n, size)
	}
	f.Fault = nil
	s.remove("mine")
	_, size := s.size()
	must.Equal(t, size, 0, "bytes after the end")
	n, _ := open().size()
	must.Equal(t, n, 0, "snapshots after a restart")
}

// A snapshot that cannot be read is an error of openStore, and its file stays.
func TestUnreadableSnapshot(t *testing.T) {
	var log logBuffer
	f := memfs.New()
	open := func() (*store, error) {
		return openStore(atomicfile.Files{FS: f}, storageFolder, time.Hour, 1<<30, 5, log.logger())
	}
	must.Do(t, must.Get(open())(t).put(&stream{identity: identity{ID: "mine"}, detector: newRecognizer(t).NewDetector()}))
	for _, failing := range []string{"OpenFile", "Read"} {
		path := ""
		f.Fault = func(_ int, operation, name string) error {
			if operation != failing || !strings.HasSuffix(name, suffix) {
				return nil
			}
			path = name
			return syscall.EIO
		}
		_, err := open()
		must.Fail(t, err, syscall.EIO, path, suffix, "make the files readable")
	}
	f.Fault = func(_ int, operation, name string) error {
		if operation != "OpenFile" || !strings.HasSuffix(name, suffix) {
			return nil
		}
		return fs.ErrNotExist // deleted meanwhile
	}
	must.Get(open())(t)
	f.Fault = nil
	n, _ := must.Get(open())(t).size()
	must.Equal(t, n, 1, "snapshots")
}

// On a disk that fails, the list of files to delete is bounded. When the disk works again, so does
// the store.
func TestUnremovableFilesAreBounded(t *testing.T) {
	var log logBuffer
	f := memfs.New()
	s := must.Get(openStore(atomicfile.Files{FS: f}, storageFolder, time.Hour, 1<<30, 5, log.logger()))(t)
	f.Fault = func(int, string, string) error { return syscall.EIO }
	st := &stream{identity: identity{ID: "mine"}, detector: newRecognizer(t).NewDetector()}
	for range 2 * maxUnremovable {
		if s.put(st) == nil {
			t.Fatal("written on a failing disk")
		}
	}
	must.Equal(t, len(s.obsolete), maxUnremovable+1, "files to delete")
	must.Equal(t, s.unremovable, maxUnremovable+1, "files that cannot be removed")
	must.Equal(t, log.count(notRemoved), maxUnremovable+1, "records of them")
	f.Fault = nil
	must.Do(t, s.put(st))
	must.Equal(t, s.unremovable+len(s.obsolete), 0, "files to delete")
	must.Equal(t, s.total, s.list["mine"].size, "bytes are counted")
}

// In a full store, a disconnected stream replaces the oldest snapshots of connected ones, if these
// are large enough. A connected stream replaces none.
func TestFullStoreSavesDisconnectedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTestStore(t, t.TempDir(), 5)
		next := func(id string) *stream {
			time.Sleep(time.Second)
			return &stream{identity: identity{ID: id, Client: "client of " + id}}
		}
		check := func(want ...string) {
			t.Helper()
			must.Equal(t, fmt.Sprint(slices.Sorted(maps.Keys(s.list))), fmt.Sprint(want), "snapshots")
			files := filesIn(t, s.dir)
			must.Equal(t, len(files), len(want), "files")
		}
		must.Do(t, errors.Join(s.put(next("z")), s.begin(next("c")), s.begin(next("b")), s.begin(next("a"))))
		size := s.total / 4
		s.max = 9 * size / 2
		must.Fail(t, s.begin(next("d")), "raise MaxStore")
		check("a", "b", "c", "z")
		must.Do(t, s.put(next("d")))
		check("a", "b", "d", "z")
		must.Do(t, s.put(next("b"))) // it replaces its own
		check("a", "b", "d", "z")
		s.max = 5 * size / 2
		must.Fail(t, s.put(next("e")), "raise MaxStore")
		check("a", "b", "d", "z")
		s.max = 9 * size / 2
		must.Do(t, s.put(next("e")))
		check("b", "d", "e", "z")
		must.Fail(t, s.put(next("f")), "raise MaxStore")
		check("b", "d", "e", "z")
	})
}

// A second server cannot use the folder of a running one, whose streams it does not know. It can
// when the first has ended, by Serve or by Close, or when New has failed.
func TestSnapshotFolderIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "streams")
		opt := Defaults()
		opt.Snapshots = dir
		second := func() (*Server, error) { return New(toneModel(t, 0), events.Defaults(), opt) }
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots = dir })
		in.interrupt("mine")
		must.Reject(second())(t, "another service uses the folder "+dir, "choose another folder")
		must.Do(t, in.stop())

		s := must.Get(second())(t)
		must.Equal(t, s.Stats().Snapshots, 1, "snapshots")
		must.Reject(second())(t, dir)
		must.Do(t, s.Close())
		must.Do(t, s.Close())

		unreadable := filepath.Join(dir, strings.Repeat("A", 26)+suffix)
		must.Do(t, os.WriteFile(unreadable, nil, 0))
		if _, err := os.ReadFile(unreadable); err != nil { // not for root
			must.Reject(second())(t, "snapshots cannot be read")
		}
		must.Do(t, os.Remove(unreadable))
		must.Do(t, must.Get(second())(t).Close())
	})
}
