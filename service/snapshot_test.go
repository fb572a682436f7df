package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

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
		if files := filesIn(t, dir); len(files) != 0 {
			t.Errorf("%d expired snapshots after the start", len(files))
		}
		in.interrupt("three")
		time.Sleep(time.Minute + 1)
		if n := in.position("three"); n != 0 {
			t.Errorf("an expired stream resumes at sample %d", n)
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
		names := filesIn(t, dir)
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
		if files := filesIn(t, dir); len(files) != 2 {
			t.Errorf("the folder holds %v, expected the two other files", files)
		}
	})
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
			if files := filesIn(t, dir); len(files) != 1 {
				t.Errorf("%s: %d files, expected 1", name, len(files))
			}
			must.Equal(t, s.total, s.list["mine"].size, "%s: bytes are counted", name)
			s.remove("mine")
			s.close()
		}
	}
}

// A new stream with the name of one that has ended is shorter at first. It replaces the ended one
// in the store when it begins, also if its file could not be deleted and the clock was set back.
func TestNewStreamReplacesEndedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, after := t.TempDir(), filepath.Join(t.TempDir(), "after")
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = dir })
		in.post("/v1/streams/mine?format=s16le", bytes.NewReader(make([]byte, 3200)))
		st := in.server.streams.store
		file := st.list["mine"].file
		ended := must.Get(st.read(file))(t)
		ended.Identity.Began += int64(time.Hour)
		must.Do(t, os.WriteFile(file, must.Get(encodeSnapshot(*ended))(t), 0o600))
		in.dial("/v1/streams/mine")
		synctest.Wait()
		must.Do(t, os.CopyFS(after, os.DirFS(dir)))
		writeSnapshot(t, after, *ended) // as if it was not deleted
		in = startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = after })
		must.Equal(t, in.server.Stats().Snapshots, 1, "snapshots")
		_, body := in.post("/v1/streams/mine?format=s16le&events=0", nil)
		must.Equal(t, *parse(t, body).start.Samples, 0, "the new stream resumes at sample")
	})
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
