package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// damage changes the digests of all objects, and returns their number.
func damage(t testing.TB, s *store) int {
	t.Helper()
	objects := must.Get(s.objects.List(t.Context()))(t)
	stream := must.Get(s.js.Stream(t.Context(), "OBJ_"+bucket))(t)
	for _, o := range objects {
		subject := "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(o.Name))
		var info map[string]any
		must.Do(t, json.Unmarshal(must.Get(stream.GetLastMsgForSubject(t.Context(), subject))(t).Data, &info))
		info["digest"] = "SHA-256=" + base64.URLEncoding.EncodeToString(make([]byte, 32))
		m := nats.NewMsg(subject)
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
		m.Data = must.Get(json.Marshal(info))(t)
		must.Get(s.js.PublishMsg(t.Context(), m))(t)
	}
	return len(objects)
}

// A run whose checkpoint or result is damaged in the broker starts again.
func TestDamagedObjects(t *testing.T) {
	s := tiny(t, t.TempDir(), 1, "train.checkpoint_every=1")
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = cancelAt{holdAt{step: 5}, cancel}
	must.Reject(s.Run(ctx))(t, train.ErrInterrupted)
	b := start(t)
	nc := connect(t, b)
	var begins []int
	var stop func() error
	c := &Coordinator{Sweep: s, Log: logger(t)}
	c.Watch = func([]Status) { // the coordinator waits here
		if c.Watch = nil; stop != nil {
			return
		}
		st := must.Get(open(t.Context(), nc))(t)
		if damage(t, st) == 0 {
			t.Error("no checkpoint is stored")
		}
		stop = work(t, connect(t, b), &Worker{Name: "only", Reporter: beginsOf{holdAt{}, &begins}})
		w := must.Get(st.kv.WatchAll(t.Context()))(t)
		for complete := 0; complete < 2; {
			got := <-w.Updates()
			if got == nil {
				continue
			}
			if e, err := parseEntry(got.Value()); err == nil && e.Status == done {
				complete++
			}
		}
		must.Do(t, w.Stop())
		damage(t, st)
	}
	must.Get(c.Run(t.Context(), nc))(t)
	_ = stop()
	must.Equal(t, len(begins), 4, "attempts at two runs")
	for _, step := range begins {
		must.Equal(t, step, 0, "step at which an attempt began")
	}
	same(t, s, alone(t, 1))
}

type beginsOf struct {
	holdAt
	steps *[]int
}

func (b beginsOf) Begin(p train.Progress) { *b.steps = append(*b.steps, p.Step) }
func (b beginsOf) Step(train.Progress)    {}

// Damaged data are deleted, so that the worker asks the coordinator for them again.
func TestDamagedData(t *testing.T) {
	s := stored(t, entry{})
	root := t.TempDir()
	writeFile(t, root, "data/file", "content")
	ref := must.Get(treeOf(filepath.Join(root, "data"), math.MaxInt64, nil))(t)
	var archive bytes.Buffer
	must.Do(t, pack(&archive, ref.Path))
	j := &job{Sweep: testKey[:16]}
	must.Get(s.objects.PutBytes(t.Context(), ref.object(j.Sweep), archive.Bytes()))(t)
	r := &run{Worker: &Worker{store: s, Stall: time.Hour}, job: j, began: time.Now()}
	must.Do(t, r.fetch(t.Context(), ref, t.TempDir()))
	damage(t, s)
	if err := r.fetch(t.Context(), ref, t.TempDir()); !errors.As(err, new(brokerError)) || !errors.Is(err, jetstream.ErrDigestMismatch) {
		t.Errorf("error %v", err)
	}
	must.Reject(s.objects.GetInfo(t.Context(), ref.object(j.Sweep)))(t, jetstream.ErrObjectNotFound)
}

// Reading data and checkpoints counts as a sign of life, for as long as it takes.
func TestReadingIsAlive(t *testing.T) {
	s := stored(t, entry{})
	root := t.TempDir()
	writeFile(t, root, "data", strings.Repeat("x", 1<<20))
	path := filepath.Join(root, "data")
	ref := must.Get(treeOf(path, math.MaxInt64, nil))(t)
	r := &run{Worker: &Worker{}, job: &job{Data: []dataRef{ref}}, began: time.Now().Add(-time.Hour)}
	hashed := 0
	r.cache = &cache{shared: map[string]string{}, tree: func(path string, limit int64, step func() error) (dataRef, error) {
		return treeOf(path, limit, func() error {
			r.active.Store(0)
			err := step()
			if hashed++; r.active.Load() == 0 {
				t.Error("a read does not count as a sign of life")
			}
			return err
		})
	}}
	must.Equal(t, must.Get(r.data(t.Context(), path))(t), path, "path")

	writeFile(t, root, "run/last/checkpoint.safetensors", strings.Repeat("x", 1<<20))
	files := must.Get(put(t.Context(), s.objects, filepath.Join(root, "run"), "a", nil, nil))(t)
	got := 0
	must.Do(t, get(t.Context(), atomicfile.System(), s.objects, t.TempDir(), files, func() error { got++; return nil }))
	if hashed < 3 || got < 3 {
		t.Errorf("%d and %d signs of life, expected several per MB", hashed, got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must.Reject(treeOf(path, math.MaxInt64, r.step(ended)))(t, context.Canceled)
}

// A sweep that is cancelled while it connects is interrupted.
func TestInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Reject((&Coordinator{Sweep: tiny(t, t.TempDir(), 1)}).Run(ctx, connect(t, start(t))))(t, train.ErrInterrupted)
}

// A coordinator that loses its connection while it waits for workers to stop ends at once.
func TestDrainClosed(t *testing.T) {
	st := stored(t, entry{Status: running})
	waits := &find{text: "waiting for workers", found: make(chan struct{})}
	s := &sweep{
		Coordinator: &Coordinator{Log: slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), waits), nil))},
		store:       st, id: testKey[:16], open: map[int]bool{0: true}, state: make([]Status, 1),
	}
	go func() {
		<-waits.found
		st.nc.Close()
	}()
	must.Fail(t, s.drain(), train.ErrInterrupted, "the connection to the broker was closed")
}

// A coordinator that stops says for how many workers it waits, and shows what happens to their
// runs.
func TestDrainShows(t *testing.T) {
	st := stored(t, entry{Status: running, Worker: "a"})
	asked := &find{text: "store checkpoints; a second Ctrl-C does not wait\" workers=1", found: make(chan struct{})}
	var shown []string
	s := &sweep{Coordinator: &Coordinator{
		Log:   slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), asked), nil)),
		Watch: func(all []Status) { shown = append(shown, all[0].State+" "+all[0].Worker) },
	}, store: st, id: testKey[:16], open: map[int]bool{0: true}, state: make([]Status, 1)}
	go func() {
		<-asked.found
		e, rev, err := read(t.Context(), st.kv, testKey)
		if err == nil {
			e.Status, e.Worker = stopped, ""
			_, err = write(t.Context(), st.kv, testKey, e, rev)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	must.Fail(t, s.drain(), train.ErrInterrupted)
	must.Equal(t, strings.Join(shown, ", "), "running a, stopped ", "shown states")
}
