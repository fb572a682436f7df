package service

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A client that connects to another server with the same store takes its stream there, also while
// the first server still has it. That one can no longer save the stream, and its session ends.
func TestTakeover(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	for name, next := range map[string]func(first *instance, c *wsClient){
		"periodic snapshot": func(_ *instance, c *wsClient) {
			time.Sleep(time.Minute)
			c.sendAudio(pcm[40000:41600], 1600)
		},
		"lost connection": func(_ *instance, c *wsClient) { c.conn.CloseNow() },
		"end":             func(_ *instance, c *wsClient) { c.sendText(`{"type":"end"}`) },
		"shutdown":        func(first *instance, _ *wsClient) { must.Do(t, first.stop()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSharedStore(t)
				shared := func(o *Options) { o.Store = store }
				first, second := startService(t, toneModel(t, 0), shared), startService(t, toneModel(t, 0), shared)
				first.interrupt("mine", pcm[:20000])
				old := first.dial("/v1/streams/mine") // which the first server has until its end
				old.sendAudio(pcm[20000:40000], 1600)
				synctest.Wait()

				c := second.dial("/v1/streams/mine?events=0")
				c.line()
				next(first, old)
				synctest.Wait()
				c.sendAudio(pcm[20000:], 1600)
				c.sendText(`{"type":"end"}`)
				got, _ := c.rest()
				must.Equal(t, *got.start.Samples, 10000, "the second server resumes at sample")
				checkComplete(t, "second server", got, pcm)
				if name == "periodic snapshot" {
					got, status := old.rest()
					checkLine(t, "first server", got.err, "moved", "another server")
					must.Equal(t, status, websocket.StatusPolicyViolation, "closed with")
				}
				_, body := second.post("/v1/streams/mine?format=s16le&events=0", nil)
				checkComplete(t, "the store has the second server's end", parse(t, body), pcm)
			})
		})
	}
}

// Of two servers that start a stream with the same name, or delete it, one is late.
func TestRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSharedStore(t)
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Store = store })
		st := must.Get(in.server.streams.acquire(t.Context(), "mine", -1))(t)
		must.Get(store.Put(t.Context(), "mine", []byte("another server's"), 0))(t)
		must.Fail(t, in.server.streams.claim(st), "connected already")
		in.server.streams.leave(st)
		store.setFail(func(method string) error {
			if method == "delete" {
				return ErrRevision // another server has saved it since
			}
			return nil
		})
		status, body := in.request("DELETE", "/v1/streams/mine", nil)
		checkError(t, "DELETE", status, body, 409, "busy")
	})
}

// While the store fails, named streams are rejected and others served. A stream that has begun
// continues, the log reports it once, and it is saved when that is possible again.
func TestStoreFails(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := newSharedStore(t)
		in := startService(t, toneModel(t, 0), func(o *Options) {
			o.Store, o.SaveEvery, o.Log = store, time.Second, slog.New(slog.NewTextHandler(&log, nil))
		})
		in.playMine("ended", pcm)
		c := in.dial("/v1/streams/mine")
		c.line()
		broken := errors.New("broken")
		store.setFail(func(string) error { return broken })
		for i, block := range slices.Collect(slices.Chunk(pcm, 1600)) {
			if i == 45 { // the snapshots after 1, 2, 3 and 4 s fail
				synctest.Wait()
				must.Equal(t, in.server.Stats().SnapshotErrors, 4, "snapshots that were not written")
				must.Equal(t, strings.Count(log.String(), "a snapshot was not written"), 1, "records of them")
				for _, name := range []string{"new", "ended"} {
					status, body := in.post("/v1/streams/"+name+"?format=s16le", nil)
					checkError(t, name, status, body, 503, "store")
				}
				status, body := in.request("DELETE", "/v1/streams/ended", nil)
				checkError(t, "DELETE", status, body, 503, "store")
				in.playMine("", pcm)
				store.setFail(nil)
			}
			time.Sleep(time.Second / 10)
			c.sendAudio(block, len(block))
		}
		synctest.Wait()
		b, _, _ := store.Get(t.Context(), "mine")
		h, _, err := decodeSnapshot(b)
		if err != nil || h.Samples < 36000 {
			t.Errorf("saved at sample %d: %v", h.Samples, err)
		}
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkComplete(t, "not saved for a while", got, pcm)
	})
}

// playMine sends a whole stream with a name, and returns its lines.
func (in *instance) playMine(name string, pcm []byte) transcript {
	in.t.Helper()
	path := "/v1/streams"
	if name != "" {
		path += "/" + name
	}
	_, body := in.post(path+"?format=s16le", bytes.NewReader(pcm))
	all := parse(in.t, body)
	checkComplete(in.t, name, all, pcm)
	return all
}

// A client that has lost the last lines of its stream receives them when it resumes the stream,
// whatever number of events it has received. A rejected request changes nothing.
func TestLostEnd(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	synctest.Test(t, func(t *testing.T) {
		keep := inFolder(t, t.TempDir())
		in := startService(t, toneModel(t, 0), keep)
		first := in.playMine("mine", pcm)
		must.Do(t, in.stop())
		in = startService(t, toneModel(t, 0), keep)
		for n := range len(first.events) + 1 {
			for _, query := range []string{
				"events=%zz&format=s16le", "format=s16le;events=0", "format=s16le&events=0&events=1", "format=s16le&events=100",
				"rate=16000&format=s16le", "", // no WAV
			} {
				if status, body := in.post("/v1/streams/mine?"+query, nil); status < 400 {
					t.Errorf("%s: status %d: %s", query, status, body)
				}
			}
			_, body := in.post(fmt.Sprintf("/v1/streams/mine?events=%d", n), nil) // of WAV, without a header
			got := parse(t, body)
			must.Equal(t, *got.start.Samples, int64(len(pcm)/2), "samples that were processed")
			must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(first.events[n:]), "events after %d", n)
			if got.end == nil || *got.end != *first.end {
				t.Errorf("end line %+v, expected %+v", got.end, first.end)
			}
		}
		c := in.dial("/v1/streams/mine?events=3")
		got, status := c.rest()
		must.Equal(t, fmt.Sprint(got.events), fmt.Sprint(first.events[3:]), "events of a WebSocket")
		must.Equal(t, status, websocket.StatusNormalClosure, "closed with")
		in.playMine("mine", pcm) // without events the name starts a new stream
	})
}

// A new stream with the name of one that has ended replaces it when it begins.
func TestNewStreamReplacesEndedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSharedStore(t)
		in := startService(t, toneModel(t, 0), func(o *Options) { o.Store = store })
		in.playMine("mine", encode(tonemodel.Words().Samples))
		in.dial("/v1/streams/mine").line()
		in = startService(t, toneModel(t, 0), func(o *Options) { o.Store = store })
		must.Equal(t, in.position("mine"), 0, "the new stream resumes at sample")
	})
}

// A snapshot of another model, and one that is damaged, is rejected and can be deleted.
func TestUnusableSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := startService(t, toneModel(t, 0), inFolder(t, dir))
		in.interrupt("mine", make([]byte, 1600))
		in.stop()
		in = startService(t, toneModel(t, 1), inFolder(t, dir))
		status, body := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "another model", status, body, 409, "snapshot", "model", "DELETE")
		in.stop()
		path := must.Get(filepath.Glob(filepath.Join(dir, "*"+suffix)))(t)[0]
		b := must.Get(os.ReadFile(path))(t)
		b[len(b)/2] ^= 4
		must.Do(t, os.WriteFile(path, b, 0o600))
		in = startService(t, toneModel(t, 0), inFolder(t, dir))
		status, body = in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "damaged", status, body, 409, "snapshot", "mine", "damaged", "DELETE")
		status, _ = in.request("DELETE", "/v1/streams/mine", nil)
		must.Equal(t, status, 204, "status of DELETE")
		must.Equal(t, in.position("mine"), 0, "a new stream starts at sample")
	})
}

// Expired snapshots are deleted, except those of connected streams.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSharedStore(t)
		change := func(o *Options) { o.Store, o.Keep = store, 4*time.Minute }
		in := startService(t, toneModel(t, 0), change)
		in.interrupt("one", make([]byte, 1600))
		in.interrupt("two", make([]byte, 1600))
		time.Sleep(3 * time.Minute)
		must.Equal(t, in.position("one"), 800, "resumes at sample")
		time.Sleep(2*time.Minute + 1)
		must.Equal(t, in.saved(), 1, "snapshots after 5 minutes")
		must.Equal(t, in.position("two"), 0, "an expired stream resumes at sample")
		c := in.dial("/v1/streams/three")
		c.line()
		store.setFail(func(method string) error {
			if method == "put" {
				return syscall.ENOSPC
			}
			return nil
		})
		for range 10 {
			time.Sleep(time.Minute)
			c.sendAudio(make([]byte, 160), 160)
		}
		must.Equal(t, in.saved(), 1, "snapshots: that of a connected stream that cannot be saved")
		store.setFail(nil)
	})
}

// A connected stream is saved periodically. A server that starts from a copy of the folder, as
// after a crash, resumes it from there.
func TestSaveEvery(t *testing.T) {
	silence := make([]byte, 2*tonemodel.SampleRate/10)
	for seconds, want := range map[int]int64{29: 0, 59: 30, 61: 60, 200: 180} {
		synctest.Test(t, func(t *testing.T) {
			dir, after := t.TempDir(), filepath.Join(t.TempDir(), "after")
			in := startService(t, toneModel(t, 0), inFolder(t, dir))
			conn := in.dial("/v1/streams/mine")
			for range 10 * seconds {
				time.Sleep(time.Second / 10)
				conn.sendAudio(silence, len(silence))
			}
			synctest.Wait()
			must.Do(t, os.CopyFS(after, os.DirFS(dir)))
			in = startService(t, toneModel(t, 0), inFolder(t, after))
			want = max(0, want*tonemodel.SampleRate-720) // saved after 10 of the 100 ms of a message
			must.Equal(t, in.position("mine"), want, "after %d s: resumes at sample", seconds)
		})
	}
}

// A stream remembers all events of a block, also those after one that cannot be sent.
func TestEventsThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		st := &stream{}
		s := &session{Server: in.server, stream: st, out: brokenSink{}}
		err := s.emit([]events.Event{{Label: "low", Onset: 1, End: 2}, {Label: "low", Onset: 3, End: 4}}, nil)
		must.Fail(t, err, "broken")
		must.Equal(t, st.EventCount, 2, "events")
	})
}

type brokenSink struct{ sink }

func (brokenSink) send(any) error { return errors.New("broken") }
