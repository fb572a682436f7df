package service

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

// openTestStore opens a store without a limit of bytes.
func openTestStore(t *testing.T, dir string, perClient int) *store {
	t.Helper()
	return must.Get(openStore(atomicfile.System(), dir, time.Hour, 1<<30, perClient, slog.New(slog.DiscardHandler)))(t)
}

// A snapshot of another model is rejected and can be deleted. That of another client can be neither
// used nor deleted.
func TestOtherModelAndClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		change := func(c *Options) { c.Snapshots, c.TokenHeader = dir, "Token" }
		in := startService(t, toneModel(t, 0), change)
		in.interrupt("mine", "Token", "a")
		status, body := in.post("/v1/streams/mine?format=s16le", nil, "Token", "b")
		checkError(t, "another client", status, body, 403, "owner", "mine")
		status, body = in.request("DELETE", "/v1/streams/mine", nil, "Token", "b")
		checkError(t, "another client's DELETE", status, body, 403, "owner", "mine")
		in.stop()

		in = startService(t, toneModel(t, 1), change)
		status, body = in.post("/v1/streams/mine?format=s16le", nil, "Token", "a")
		checkError(t, "another model", status, body, 409, "snapshot", "model", "DELETE")
		in.stop()

		in = startService(t, toneModel(t, 1), change)
		if status, body = in.request("DELETE", "/v1/streams/mine", nil, "Token", "a"); status != 204 {
			t.Errorf("DELETE: status %d, %s", status, body)
		}
		if n := in.position("mine", "Token", "a"); n != 0 {
			t.Errorf("a new stream starts at sample %d", n)
		}
	})
}

// Expired snapshots are deleted, while the server runs and when it starts.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		change := func(c *Options) { c.Snapshots, c.Keep = dir, time.Minute }
		in := startService(t, toneModel(t, 0), change)
		in.interrupt("one")
		must.Equal(t, in.position("one"), 800, "resumes at sample")
		in.interrupt("two")
		in.stop()
		time.Sleep(time.Minute + 1)
		in = startService(t, toneModel(t, 0), change)
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%d expired snapshots after the start", len(files))
		}
		in.interrupt("three")
		time.Sleep(time.Minute + 1)
		if n := in.position("three"); n != 0 {
			t.Errorf("an expired stream resumes at sample %d", n)
		}
	})
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

// Damaged snapshots and those that a crash left incomplete are deleted. Other files stay.
func TestDamagedSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		keep := func(c *Options) { c.Snapshots = dir }
		in := startService(t, toneModel(t, 0), keep)
		in.interrupt("mine")
		in.stop()
		names, _ := os.ReadDir(dir)
		path := filepath.Join(dir, names[0].Name())
		b := must.Get(os.ReadFile(path))(t)
		b[len(b)/2] ^= 4
		for p, content := range map[string][]byte{
			path: b, path + ".123.tmp": b[:100], // of the store
			filepath.Join(dir, "other"+suffix): b, filepath.Join(dir, "notes.txt"): nil,
		} {
			must.Do(t, os.WriteFile(p, content, 0o644))
		}
		in = startService(t, toneModel(t, 0), keep)
		if n := in.position("mine"); n != 0 {
			t.Errorf("resumes at sample %d of a damaged snapshot", n)
		}
		if files, _ := os.ReadDir(dir); len(files) != 2 {
			t.Errorf("the folder holds %v, expected the two other files", files)
		}
	})
}

// writeSnapshot writes a snapshot to a folder as a store does.
func writeSnapshot(t *testing.T, dir string, v snapshot) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(dir, rand.Text()+suffix), must.Get(encodeSnapshot(v))(t), 0o600))
}

// When a crash has left two snapshots of a stream, it resumes from the newer one, also if the clock
// was set back between them.
func TestTwoSnapshots(t *testing.T) {
	ended, began := &report.End{Type: "end", Samples: 200, Block: report.Block{Samples: 1}}, time.Now().Add(-time.Minute)
	for name, two := range map[string][2]snapshot{ // the older one first
		"clock": {
			{Identity: identity{Samples: 100}, Saved: began},
			{Identity: identity{Samples: 200}, Saved: began.Add(time.Second)},
		},
		"clock set back": {
			{Identity: identity{Samples: 100}, Saved: began},
			{Identity: identity{Samples: 200}, Saved: began.Add(-time.Second)},
		},
		"another stream with this name": {
			{Identity: identity{Samples: 200, SampleRate: 1, End: ended}, Saved: began},
			{Identity: identity{Samples: 100, Began: 1}, Saved: began.Add(-time.Second)},
		},
		"end without audio, clock set back": {
			{Identity: identity{Samples: 200}, Saved: began},
			{Identity: identity{Samples: 200, SampleRate: 1, End: ended}, Saved: began.Add(-time.Second)},
		},
		"no audio": {
			{Identity: identity{Samples: 200}, Saved: began},
			{Identity: identity{Samples: 200, Busy: 1}, Saved: began.Add(time.Second)},
		},
	} {
		dir := t.TempDir()
		for range 8 { // names are random, and so is the order in which the store reads them
			for i := range two {
				two[i].Identity.ID = "mine"
				writeSnapshot(t, dir, two[i])
			}
			s := openTestStore(t, dir, 5)
			kept, err := s.get("mine", "")
			want := two[1].Identity
			if err != nil || kept.Identity.Samples != want.Samples || kept.Identity.Busy != want.Busy || (kept.Identity.End == nil) != (want.End == nil) {
				t.Errorf("%s: %+v, %v; expected %+v", name, kept, err, want)
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 {
				t.Errorf("%s: %d files, expected 1", name, len(files))
			}
			must.Equal(t, s.total, s.list["mine"].size, "%s: bytes are counted", name)
			s.remove("mine")
		}
	}
}

// A new stream with the name of one that has ended is shorter at first. It replaces the ended one
// in the store when it begins, also if its file could not be deleted and the clock was set back.
func TestNewStreamReplacesEndedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		keep := func(c *Options) { c.Snapshots = dir }
		in := startService(t, toneModel(t, 0), keep)
		in.post("/v1/streams/mine?format=s16le", bytes.NewReader(make([]byte, 3200)))
		st := in.server.streams.store
		file := st.list["mine"].file
		ended := must.Get(st.read(file))(t)
		ended.Identity.Began += int64(time.Hour)
		must.Do(t, os.WriteFile(file, must.Get(encodeSnapshot(*ended))(t), 0o600))
		in.dial("/v1/streams/mine")
		synctest.Wait()
		writeSnapshot(t, dir, *ended) // as if it was not deleted
		in = startService(t, toneModel(t, 0), keep)
		must.Equal(t, in.server.Stats().Snapshots, 1, "snapshots")
		_, body := in.post("/v1/streams/mine?format=s16le&events=0", nil)
		must.Equal(t, *parse(t, body).start.Samples, 0, "the new stream resumes at sample")
	})
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
			files, _ := os.ReadDir(dir)
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
	if files, _ := os.ReadDir(s.dir); len(files) != 1 {
		t.Errorf("%d files, expected 1", len(files))
	}
}

// A client's stream ends normally although its snapshot cannot be removed; the log reports that.
func TestUnremovableFileAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.Log = t.TempDir(), log.logger() })
		check := func(id string, got transcript, logged int) {
			t.Helper()
			synctest.Wait()
			if got.end == nil {
				t.Errorf("%s: no end line, but %+v", id, got.err)
			}
			if n := log.count(notRemoved); n != logged {
				t.Errorf("%s: logged %d times, expected %d", id, n, logged)
			}
		}
		in.interrupt("websocket")
		c := in.dial("/v1/streams/websocket")
		c.line()
		obstruct(t, in.server.streams.store, "websocket")
		c.sendText(`{"type":"end"}`)
		got, status := c.rest()
		check("websocket", got, 1)
		if status != websocket.StatusNormalClosure {
			t.Errorf("closed with %v", status)
		}

		in.interrupt("upload")
		body, result := in.upload("/v1/streams/upload?format=s16le")
		body.Write(make([]byte, 160))
		synctest.Wait()
		obstruct(t, in.server.streams.store, "upload")
		body.Close()
		check("upload", parse(t, result()), 2)
	})
}

// A snapshot that cannot be written is logged once, however the session ends.
func TestUnwrittenSnapshotIsLogged(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		header             []string
	}{
		{"no WAV", "POST", "/v1/streams/mine", nil},
		{"half a sample", "POST", "/v1/streams/mine?format=s16le", nil},
		{"half a handshake", "GET", "/v1/streams/mine", []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logBuffer
				in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.Log = t.TempDir(), log.logger() })
				in.interrupt("mine")
				s := in.server.streams.store
				s.mu.Lock()
				s.max = 1
				s.mu.Unlock()
				in.request(c.method, c.path, strings.NewReader("odd"), c.header...)
				synctest.Wait()
				if n := log.count("a snapshot was not written"); n != 1 {
					t.Errorf("logged %d times, expected once", n)
				}
				must.Equal(t, in.server.Stats().Snapshots, 1, "snapshots: the previous one")
				checkDisconnected(t, s)
			})
		})
	}
}

// A snapshot that is damaged while the server runs is rejected and can be deleted.
func TestDamagedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		in.interrupt("mine")
		must.Do(t, os.WriteFile(in.server.streams.store.list["mine"].file, []byte("damaged"), 0o600))
		status, body := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "damaged", status, body, 409, "snapshot", "mine", "damaged", "DELETE")
		if status, body := in.request("DELETE", "/v1/streams/mine", nil); status != 204 {
			t.Errorf("DELETE: status %d, %s", status, body)
		}
		if n := in.position("mine"); n != 0 {
			t.Errorf("a new stream starts at sample %d", n)
		}
	})
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
			if files, _ := os.ReadDir(dir); len(files) != n || listed != n {
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
