package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// Another model's snapshot is refused, and can be deleted; another client's can be neither had nor deleted.
func TestStrangeSnapshots(t *testing.T) {
	dir := t.TempDir()
	change := func(c *config) { c.Dir, c.TokenHeader = dir, "Token" }
	in := start(t, tones(t, 0), change)
	in.abandon("mine", "Token", "a")
	status, answer := in.post("/v1/streams/mine?format=s16le", nil, "Token", "b")
	refused(t, "another client", status, answer, 403, "owner", "mine")
	status, answer = in.request("DELETE", "/v1/streams/mine", nil, "Token", "b")
	refused(t, "another client's DELETE", status, answer, 403, "owner", "mine")
	in.stop()

	in = start(t, tones(t, 1), change)
	status, answer = in.post("/v1/streams/mine?format=s16le", nil, "Token", "a")
	refused(t, "another model", status, answer, 409, "snapshot", "model", "DELETE")
	in.stop()

	in = start(t, tones(t, 1), change)
	if status, answer = in.request("DELETE", "/v1/streams/mine", nil, "Token", "a"); status != 204 {
		t.Errorf("DELETE: status %d, %s", status, answer)
	}
	if n := in.heardBefore("mine", "Token", "a"); n != 0 {
		t.Errorf("a new stream has heard %d samples", n)
	}
}

// Snapshots that are too old are removed, here and after a restart.
func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	change := func(c *config) { c.Dir, c.Keep = dir, time.Second }
	in := start(t, tones(t, 0), change)
	in.abandon("one")
	if n := in.heardBefore("one"); n != 800 {
		t.Errorf("goes on from sample %d, want 800", n)
	}
	in.abandon("two")
	in.stop()
	time.Sleep(1100 * time.Millisecond)
	in = start(t, tones(t, 0), change)
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d snapshots after their time", len(files))
	}
	in.abandon("three")
	time.Sleep(1100 * time.Millisecond)
	if n := in.heardBefore("three"); n != 0 {
		t.Errorf("goes on from sample %d after its time", n)
	}
}

// The store takes so many bytes, and so many snapshots of a client, whose oldest then makes room.
func TestStoreLimits(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir, c.MaxPerClient, c.TokenHeader = t.TempDir(), 2, "Token" })
	for _, id := range []string{"one", "two", "three"} {
		in.abandon(id, "Token", "a")
	}
	in.abandon("other", "Token", "b")
	if n := in.metric("s4d_snapshots"); n != 3 {
		t.Errorf("%v snapshots, want 3", n)
	}
	size := in.metric("s4d_snapshot_bytes") / 3
	for id, want := range map[string]int64{"one": 0, "two": 800, "three": 800} {
		if n := in.heardBefore(id, "Token", "a"); n != want {
			t.Errorf("%s goes on from sample %d, want %d", id, n, want)
		}
	}
	in.stop()

	in = start(t, tones(t, 0), func(c *config) { c.Dir, c.MaxStore = t.TempDir(), int64(2.5*size) })
	for _, id := range []string{"one", "two", "three"} {
		in.abandon(id)
	}
	if n, bytes := in.metric("s4d_snapshots"), in.metric("s4d_snapshot_bytes"); n != 2 || bytes > 2.5*size {
		t.Errorf("%v snapshots of %v bytes, want 2 in %v", n, bytes, 2.5*size)
	}
	if n := in.heardBefore("three"); n != 0 {
		t.Errorf("what had no room goes on from sample %d", n)
	}
}

// Damaged snapshots and those that a crash left half are removed; other files are left alone.
func TestDamagedSnapshots(t *testing.T) {
	dir := t.TempDir()
	keep := func(c *config) { c.Dir = dir }
	in := start(t, tones(t, 0), keep)
	in.abandon("mine")
	in.stop()
	names, _ := os.ReadDir(dir)
	path := filepath.Join(dir, names[0].Name())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	strange := filepath.Join(dir, "other"+suffix)
	for p, content := range map[string][]byte{path: b, path + "123": b[:100], strange: []byte("not ours"), filepath.Join(dir, "notes.txt"): nil} {
		if err := os.WriteFile(p, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in = start(t, tones(t, 0), keep)
	if n := in.heardBefore("mine"); n != 0 {
		t.Errorf("goes on from sample %d of a damaged snapshot", n)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("the folder holds %v, want the two files that are not ours", files)
	}
}

// Where a crash has left a stream two snapshots, it goes on from the newer.
func TestTwoSnapshots(t *testing.T) {
	recognizer := start(t, tones(t, 0), nil).server.recognizer
	dir := t.TempDir()
	for n := range 2 {
		st := &stream{identity: identity{ID: "mine", EventCount: int64(n)}, detector: recognizer.NewDetector()}
		fresh := t.TempDir()
		s, err := openStore(fresh, time.Hour, 1<<30, 1, slog.New(slog.DiscardHandler))
		if err == nil {
			err = errors.Join(s.put(st), os.CopyFS(dir, os.DirFS(fresh)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := openStore(dir, time.Hour, 1<<30, 5, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.get("mine", "")
	if files, _ := os.ReadDir(dir); err != nil || kept.Identity.EventCount != 1 || len(files) != 1 || s.total != s.list["mine"].size {
		t.Errorf("%+v, %v; %d files, %d bytes", kept, err, len(files), s.total)
	}
}

// A snapshot of any bytes is refused or gives a stream.
func FuzzSnapshot(f *testing.F) {
	m, err := tonemodel.New()
	if err != nil {
		f.Fatal(err)
	}
	recognizer, err := events.New(m, events.Defaults())
	if err != nil {
		f.Fatal(err)
	}
	d := recognizer.NewDetector()
	d.Process(tonemodel.Words().Samples[:9000])
	b, err := encodeSnapshot(snapshot{identity{ID: "a", EventCount: 1, Recent: []report.Event{{Type: "event"}}}, d.Snapshot(), time.Unix(1, 0)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:headerSize])
	f.Add([]byte(strings.Repeat(magic, 3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if kept, err := decodeSnapshot(b); err == nil {
			if _, err := json.Marshal(kept.Identity.ID); err != nil {
				t.Error(err)
			}
		}
	})
}

// However many streams a client leaves at once, the list is what the folder holds, and no more than it may have.
func TestStoreTogether(t *testing.T) {
	recognizer := start(t, tones(t, 0), nil).server.recognizer
	dir := t.TempDir()
	for _, perClient := range []int{1, 3} {
		s, err := openStore(dir, time.Hour, 1<<30, perClient, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for round := range 20 {
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					st := &stream{identity: identity{ID: fmt.Sprint(round, "-", i), Client: "mine"}, detector: recognizer.NewDetector()}
					if err := s.put(st); err != nil {
						t.Error(err)
					}
					s.get(st.ID, "mine")
				})
			}
			all.Wait()
			files, _ := os.ReadDir(dir)
			bytes := int64(0)
			for _, f := range files {
				info, _ := f.Info()
				bytes += info.Size()
				if info.Mode().Perm() != 0o600 {
					t.Fatalf("%s has mode %v", f.Name(), info.Mode())
				}
			}
			if n, listed := s.size(); n != perClient || n != len(files) || listed != bytes {
				t.Fatalf("%d listed of %d bytes, %d files of %d bytes; want %d of each", n, listed, len(files), bytes, perClient)
			}
		}
	}
}

// A snapshot that cannot be written is not counted, and leaves the stream its last one.
func TestStoreFails(t *testing.T) {
	st := &stream{identity: identity{ID: "mine"}, detector: start(t, tones(t, 0), nil).server.recognizer.NewDetector()}
	s, err := openStore(filepath.Join(t.TempDir(), "a"), time.Hour, 1<<30, 1, slog.New(slog.DiscardHandler))
	if err == nil {
		err = s.put(st)
	}
	if err == nil {
		err = os.Rename(s.dir, s.dir+"b")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, before := s.size()
	if err := s.put(st); err == nil {
		t.Error("written to a folder that is not there")
	}
	if err := os.Rename(s.dir+"b", s.dir); err != nil {
		t.Fatal(err)
	}
	kept, err := s.get("mine", "")
	if n, after := s.size(); kept == nil || err != nil || n != 1 || after != before {
		t.Errorf("%v, %v; %d listed of %d bytes, before of %d", kept, err, n, after, before)
	}
}

// jam makes the file of a stream's snapshot one that cannot be removed, even by root, until free makes it one that can.
func jam(t *testing.T, s *store, id string) (free func()) {
	t.Helper()
	file := s.list[id].file
	inside := filepath.Join(file, "inside")
	if err := errors.Join(os.Remove(file), os.MkdirAll(inside, 0o700)); err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(inside) }
}

// A file that cannot be removed counts until it can, is told of once, and is nothing to other streams.
func TestStuckFile(t *testing.T) {
	var log journal
	in := start(t, tones(t, 0), func(c *config) { c.Dir, c.Log = t.TempDir(), log.logger() })
	s := in.server.streams.store
	put := func(id string) error {
		return s.put(&stream{identity: identity{ID: id}, detector: in.server.recognizer.NewDetector()})
	}
	check := func(when string, n int, bytes int64) {
		t.Helper()
		if gotN, got := s.size(); gotN != n || got != bytes {
			t.Errorf("%s: %d snapshots of %d bytes, want %d of %d", when, gotN, got, n, bytes)
		}
	}
	if err := put("a"); err != nil {
		t.Fatal(err)
	}
	size := s.total
	free := jam(t, s, "a")
	for i := range 3 {
		if err := put("a"); err != nil {
			t.Errorf("put %d: %v", i, err)
		}
		check("stuck", 1, 2*size)
	}
	if kept, err := s.get("a", ""); kept == nil || err != nil {
		t.Errorf("get: %v, %v", kept, err)
	}
	if kept, err := s.get("b", ""); kept != nil || err != nil {
		t.Errorf("get of a stream that is not there: %v, %v", kept, err)
	}
	s.max = 3*size - 1
	if err := put("b"); err == nil {
		t.Error("written beyond the limit")
	}
	check("full", 1, 2*size)
	if n := log.count("a file was not removed"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	free()
	if status, answer := in.request("DELETE", "/v1/streams/nobody", nil); status != 404 {
		t.Errorf("DELETE: status %d, %s", status, answer)
	}
	check("free", 1, size)
	if files, _ := os.ReadDir(s.dir); len(files) != 1 {
		t.Errorf("%d files, want 1", len(files))
	}
}

// What a crash has left and cannot be removed counts, and keeps no server from its work.
func TestStuckAtStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("A", 26)+suffix+"1", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log journal
	in := start(t, tones(t, 0), func(c *config) { c.Dir, c.Log = dir, log.logger() })
	in.abandon("mine")
	if n := in.heardBefore("mine"); n != 800 || log.count("a file was not removed") != 1 {
		t.Errorf("goes on from sample %d, want 800; log %s", n, &log.text)
	}
}

// A stream has ended for its client, whatever becomes of its file; the log tells.
func TestStuckEnd(t *testing.T) {
	var log journal
	in := start(t, tones(t, 0), func(c *config) { c.Dir, c.Log = t.TempDir(), log.logger() })
	ends := func(id string, end func() (transcript, websocket.StatusCode)) {
		t.Helper()
		before := log.count("a file was not removed")
		if got, status := end(); got.end == nil || got.err != nil || status != websocket.StatusNormalClosure {
			t.Errorf("%s: %+v, closed with %v", id, got, status)
		}
		until(t, "without streams", func() bool { return in.server.streams.count() == 0 })
		if n := log.count("a file was not removed") - before; n != 1 {
			t.Errorf("%s: logged %d times, want once", id, n)
		}
	}
	in.abandon("socket")
	c := in.dial("/v1/streams/socket")
	c.line()
	jam(t, in.server.streams.store, "socket")
	ends("socket", func() (transcript, websocket.StatusCode) {
		c.text(`{"type":"end"}`)
		return c.rest()
	})
	in.abandon("body")
	r, w := io.Pipe()
	heard := make(chan string)
	go func() {
		_, answer := in.post("/v1/streams/body?format=s16le", r)
		heard <- answer
	}()
	until(t, "connected", func() bool { return in.server.streams.count() == 1 })
	before := in.server.metrics.samples.Load()
	w.Write(make([]byte, 160))
	until(t, "heard", func() bool { return in.server.metrics.samples.Load() == before+80 })
	jam(t, in.server.streams.store, "body")
	ends("body", func() (transcript, websocket.StatusCode) {
		w.Close()
		return read(t, <-heard), websocket.StatusNormalClosure
	})
}

// A snapshot that cannot be written is logged once, however the session ends.
func TestUnwrittenIsLogged(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		header             []string
	}{
		{"no WAV", "POST", "/v1/streams/mine", nil},
		{"half a sample", "POST", "/v1/streams/mine?format=s16le", nil},
		{"half a handshake", "GET", "/v1/streams/mine", []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
	} {
		var log journal
		in := start(t, tones(t, 0), func(c *config) { c.Dir, c.Log = t.TempDir(), log.logger() })
		in.abandon("mine")
		s := in.server.streams.store
		s.mu.Lock()
		s.max = 1
		s.mu.Unlock()
		var body io.Reader
		if c.method == "POST" {
			body = strings.NewReader("odd")
		}
		in.request(c.method, c.path, body, c.header...)
		until(t, "without streams", func() bool { return in.server.streams.count() == 0 })
		if n := log.count("a snapshot was not written"); n != 1 {
			t.Errorf("%s: logged %d times, want once", c.name, n)
		}
	}
}

// A snapshot that is damaged while the server runs is refused like a strange one, and can be deleted.
func TestDamagedMeanwhile(t *testing.T) {
	in := start(t, tones(t, 0), func(c *config) { c.Dir = t.TempDir() })
	in.abandon("mine")
	if err := os.WriteFile(in.server.streams.store.list["mine"].file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, answer := in.post("/v1/streams/mine?format=s16le", nil)
	refused(t, "damaged", status, answer, 409, "snapshot", "mine", "damaged", "DELETE")
	if status, answer := in.request("DELETE", "/v1/streams/mine", nil); status != 204 {
		t.Errorf("DELETE: status %d, %s", status, answer)
	}
	if n := in.heardBefore("mine"); n != 0 {
		t.Errorf("a new stream has heard %d samples", n)
	}
}

// A server with tighter limits takes over no more than they allow, the newest; whatever the folder's name.
func TestStoreLimitsAtStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	change := func(c *config) { c.Dir, c.TokenHeader = dir, "Token" }
	in := start(t, tones(t, 0), change)
	for _, id := range []string{"one", "two", "three"} {
		in.abandon(id, "Token", "a")
	}
	in.abandon("other", "Token", "b")
	size := in.metric("s4d_snapshot_bytes") / 4
	in.stop()
	holds := func(n int, listed float64) {
		t.Helper()
		if files, _ := os.ReadDir(dir); len(files) != n || listed != float64(n) {
			t.Errorf("%d files, %v listed, want %d", len(files), listed, n)
		}
	}
	holds(4, 4)

	in = start(t, tones(t, 0), func(c *config) { change(c); c.MaxPerClient = 2 })
	holds(3, in.metric("s4d_snapshots"))
	in.stop()
	in = start(t, tones(t, 0), func(c *config) { change(c); c.MaxStore = int64(2.5 * size) })
	holds(2, in.metric("s4d_snapshots"))
	for _, want := range []struct {
		id, client string
		samples    int64
	}{{"two", "a", 0}, {"three", "a", 800}, {"other", "b", 800}} {
		if n := in.heardBefore(want.id, "Token", want.client); n != want.samples {
			t.Errorf("%s goes on from sample %d, want %d", want.id, n, want.samples)
		}
	}
}
