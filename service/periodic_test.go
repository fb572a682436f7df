package service

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A connected stream is saved periodically. A service that starts from a copy of the folder, as
// after a crash, resumes it from there.
func TestSaveEvery(t *testing.T) {
	silence := make([]byte, 2*tonemodel.SampleRate/10)
	for _, c := range []struct {
		every   time.Duration
		seconds int   // of audio in real time
		want    int64 // seconds
	}{{30 * time.Second, 29, 0}, {30 * time.Second, 59, 30}, {30 * time.Second, 61, 60}, {30 * time.Second, 200, 180}, {0, 200, 0}} {
		synctest.Test(t, func(t *testing.T) {
			dir, after := t.TempDir(), filepath.Join(t.TempDir(), "after")
			in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.SaveEvery = dir, c.every })
			conn := in.dial("/v1/streams/mine")
			for range 10 * c.seconds {
				time.Sleep(time.Second / 10)
				conn.sendAudio(silence, len(silence))
			}
			synctest.Wait()
			must.Do(t, os.CopyFS(after, os.DirFS(dir)))
			must.Equal(t, in.server.Stats().Streams, 1, "connected streams")
			in = startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots = after })
			must.Equal(t, in.position("mine"), c.want*tonemodel.SampleRate, "every %v, after %d s: resumes at sample", c.every, c.seconds)
		})
	}
}

// A connected stream that cannot be saved continues, and the log reports that once. When it is
// possible again, the stream is saved.
func TestSaveEveryFails(t *testing.T) {
	const message = "a snapshot of a connected stream was not written"
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		dir := filepath.Join(t.TempDir(), "a")
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.SaveEvery, o.Log = dir, time.Second, log.logger() })
		must.Do(t, os.Rename(dir, dir+"b"))
		c := in.dial("/v1/streams/mine")
		for i, block := range slices.Collect(slices.Chunk(pcm, 1600)) {
			if i == 45 { // the snapshots after 1, 2, 3 and 4 s fail
				synctest.Wait()
				must.Equal(t, in.server.Stats().SnapshotErrors, 4, "snapshots that were not written")
				must.Equal(t, log.count(message), 1, "records of them")
				must.Do(t, os.Rename(dir+"b", dir))
			}
			time.Sleep(time.Second / 10)
			c.sendAudio(block, len(block))
		}
		synctest.Wait()
		must.Equal(t, in.server.Stats().Snapshots, 1, "snapshots")
		must.Equal(t, in.server.Stats().SnapshotErrors, 4, "snapshots that were not written")
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkComplete(t, "not saved", got, pcm)
		must.Do(t, in.stop()) // the earlier failures are not those of a disconnected stream
	})
}

// However long snapshots of a connected stream cannot be written, its last one stays.
func TestLastSnapshotOfConnectedStreamStays(t *testing.T) {
	silence := make([]byte, 2*tonemodel.SampleRate/10)
	synctest.Test(t, func(t *testing.T) {
		f := memfs.New()
		var full atomic.Bool
		change := func(o *Options) { o.Snapshots, o.files, o.Keep = "snapshots", f, 10*time.Minute }
		in := startService(t, toneModel(t, 0), change)
		f.Fault = func(_ int, operation, _ string) error {
			if full.Load() && operation == "Create" {
				return syscall.ENOSPC
			}
			return nil
		}
		conn := in.dial("/v1/streams/mine")
		for i := range 120 { // 20 min
			full.Store(i > 12)
			time.Sleep(10 * time.Second)
			conn.sendAudio(silence, len(silence))
		}
		in.fails = true
		must.Reject(0, in.stop())(t, "not saved")
		full.Store(false)
		in = startService(t, toneModel(t, 0), change)
		if at := in.position("mine"); at == 0 || at > 13*tonemodel.SampleRate/10 {
			t.Errorf("resumes at sample %d, expected one of the first 13 blocks", at)
		}
	})
}

// Snapshots of connected streams take no place from those of disconnected streams, which come
// first. A stream that found no place is saved after a later block.
func TestSaveEveryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.SaveEvery = t.TempDir(), time.Second })
		st := in.server.streams.store
		c := in.dial("/v1/streams/mine")
		send := func(want int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			c.sendAudio(make([]byte, 160), 160)
			synctest.Wait()
			must.Equal(t, in.server.Stats().Snapshots, want, "snapshots")
		}
		for range maxWriters {
			must.Equal(t, st.tryWriter(), true, "a free place")
		}
		send(0)
		st.freeWriter()
		send(1)
		for range maxWriters - 1 {
			st.freeWriter()
		}
		must.Equal(t, len(st.writers), 0, "places in use")
	})
}

// Snapshots of connected streams evict no interrupted stream of their client.
func TestSaveEveryEvictsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Snapshots, o.SaveEvery, o.MaxPerClient = t.TempDir(), time.Second, 2 })
		in.interrupt("a")
		in.interrupt("b")
		c := []*wsClient{in.dial("/v1/streams/c"), in.dial("/v1/streams/d")}
		for range 3 {
			time.Sleep(2 * time.Second)
			c[0].sendAudio(make([]byte, 160), 160)
			c[1].sendAudio(make([]byte, 160), 160)
			synctest.Wait()
			must.Equal(t, in.server.Stats().Snapshots, 4, "snapshots, two of connected streams")
		}
		for i, want := range []int{3, 2} { // the streams that are interrupted now are newer
			c[i].conn.CloseNow()
			synctest.Wait()
			must.Equal(t, in.server.Stats().Snapshots, want, "snapshots")
		}
		must.Equal(t, in.position("c"), 240, "resumes at sample")
		must.Equal(t, in.position("d"), 240, "resumes at sample")
	})
}

// Interrupted streams of a client do not evict the snapshot of one that was resumed, even if it has
// not been saved since, and not after a crash either. When its session ends, or the client was
// rejected, it counts again.
func TestResumedStreamIsNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, after := t.TempDir(), filepath.Join(t.TempDir(), "after")
		change := func(o *Options) { o.Snapshots, o.SaveEvery, o.MaxPerClient = dir, 0, 2 }
		in := startService(t, toneModel(t, 0), change)
		interrupt := func(id string, want int) {
			t.Helper()
			time.Sleep(time.Second)
			in.interrupt(id)
			must.Equal(t, in.server.Stats().Snapshots, want, "snapshots after the interruption of %s", id)
		}
		interrupt("a", 1)
		interrupt("b", 2)
		c := in.dial("/v1/streams/a")
		c.line()
		interrupt("c", 3)
		must.Do(t, os.CopyFS(after, os.DirFS(dir)))
		c.conn.CloseNow()
		synctest.Wait()
		must.Equal(t, in.server.Stats().Snapshots, 2, "snapshots after the session")

		in = startService(t, toneModel(t, 0), func(o *Options) { change(o); o.Snapshots = after })
		must.Equal(t, in.position("a"), 800, "after a crash, the oldest stream resumes at sample")
		status, body := in.post("/v1/streams/b?format=s16le&events=9", nil)
		checkError(t, "too many events", status, body, 410, "events")
		checkDisconnected(t, in.server.streams.store)
	})
}

// checkDisconnected checks that all snapshots count for their clients.
func checkDisconnected(t *testing.T, s *store) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.list {
		if e.connected {
			t.Errorf("stream %s is not connected, but its snapshot does not count for its client", id)
		}
	}
}
