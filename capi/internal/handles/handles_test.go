package handles

import (
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// sensitive returns a table with a model that finds events in sounds, and one stream.
func sensitive(t testing.TB) (table *Table, model, stream uint64) {
	t.Helper()
	table = &Table{}
	standard := must.Get(table.Builtin("digits"))(t)
	opt := must.Get(table.Model(standard))(t).Options.WithThreshold(0.01)
	opt.OffThreshold, opt.Refractory, opt.Smoothing, opt.Confirm = 0.01, 0, 0.05, 1
	model = must.Get(table.WithOptions(standard, opt))(t)
	must.Do(t, table.DestroyModel(standard))
	return table, model, must.Get(table.NewStream(model))(t)
}

// process is Stream.Process for a handle.
func (t *Table) process(handle uint64, x []float32, dst []Event) (int, error) {
	return t.Use(handle, func(s *Stream) (int, error) { return s.Process(x, dst) })
}

func hasCode(t testing.TB, err error, code Code) {
	t.Helper()
	if err == nil || CodeOf(err) != code {
		t.Errorf("error %v, expected code %d", err, code)
	}
}

// The events are those of package events, in order, whatever room a call has for them.
func TestEvents(t *testing.T) {
	table, model, stream := sensitive(t)
	m := must.Get(table.Model(model))(t)
	x := testfiles.Sounds(30, 8000, 1)
	want := must.Get(m.Recognize(x))(t)
	if len(want) < 5 {
		t.Fatalf("%d events, expected 5 or more", len(want))
	}
	var got []events.Event
	take := func(list []Event, n int, err error) int {
		must.Do(t, err)
		for _, e := range list[:n] {
			got = append(got, events.Event{Onset: e.Onset, End: e.End, Label: m.Labels[e.Label], Confidence: e.Confidence})
		}
		return n
	}
	for i, block := range slices.Collect(slices.Chunk(x, 7777)) {
		room := make([]Event, i%3)
		n, err := table.process(stream, block, room)
		take(room, n, err)
	}
	room := make([]Event, 2)
	n, err := table.Use(stream, func(s *Stream) (int, error) { return s.Flush(room) })
	for take(room, n, err) == len(room) {
		n, err = table.process(stream, nil, room)
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, expected %v", got, want)
	}
	must.Equal(t, must.Get(find[*Stream](table, stream, "stream"))(t).Position(), int64(len(x)), "position")
}

// A stream with too many waiting events reads no more samples, and keeps the events.
func TestPending(t *testing.T) {
	table, _, handle := sensitive(t)
	s := must.Get(find[*Stream](table, handle, "stream"))(t)
	s.waiting = make([]events.Event, MaxPending)
	for i := range s.waiting {
		s.waiting[i] = events.Event{Onset: int64(i), End: int64(i) + 1, Label: "7"}
	}
	_, err := table.process(handle, make([]float32, 8), nil)
	hasCode(t, err, Pending)
	must.Equal(t, s.Position(), 0, "position")
	_, err = s.Snapshot(nil)
	hasCode(t, err, Pending)
	hasCode(t, s.Restore(nil), Pending)
	room := make([]Event, 1000)
	for at := 0; at < MaxPending; {
		n := must.Get(table.process(handle, nil, room))(t)
		must.Equal(t, n, min(len(room), MaxPending-at), "events")
		must.Equal(t, room[n-1].Onset, int64(at+n-1), "the last onset")
		at += n
	}
	must.Get(table.process(handle, make([]float32, 8), nil))(t)
}

// A call while another one uses the stream is an error, and so is one after the stream has been
// destroyed.
func TestMisuse(t *testing.T) {
	table, model, handle := sensitive(t)
	must.Get(table.Use(handle, func(*Stream) (int, error) {
		_, err := table.process(handle, nil, nil)
		hasCode(t, err, Busy)
		hasCode(t, table.DestroyStream(handle), Busy)
		return 0, nil
	}))(t)
	must.Do(t, table.DestroyStream(handle))
	_, err := table.process(handle, nil, nil)
	hasCode(t, err, Invalid)
	hasCode(t, table.DestroyModel(handle), Invalid)
	_, err = table.NewStream(handle)
	hasCode(t, err, Invalid)
	must.Equal(t, len(table.objects), 1, "objects")
	if next := must.Get(table.NewStream(model))(t); next <= handle {
		t.Errorf("handle %d after %d, expected a new one", next, handle)
	}
}

// A panic is an error, after which the stream must be reset.
func TestPanic(t *testing.T) {
	table, _, handle := sensitive(t)
	_, err := table.Use(handle, func(*Stream) (int, error) { panic("abacus") })
	hasCode(t, err, Internal)
	must.Fail(t, err, "abacus", "handles_test.go")
	_, err = table.process(handle, nil, nil)
	hasCode(t, err, Internal)
	must.Fail(t, err, "an earlier call", "reset")
	must.Get(table.Use(handle, (*Stream).Reset))(t)
	must.Get(table.process(handle, make([]float32, 8), nil))(t)
}

// A network whose output is not finite is an error with its own code, and the stream can continue.
func TestOutput(t *testing.T) {
	m := must.Get(tonemodel.New())(t)
	m.Weights.DecoderBias[1] = float32(math.NaN())
	var table Table
	stream := must.Get(table.NewStream(must.Get(table.addModel(m, nil, nil))(t)))(t)
	for range 2 {
		_, err := table.process(stream, make([]float32, 800), nil)
		hasCode(t, err, Output)
		must.Fail(t, err, `label "high" is NaN`)
	}
}

func TestModels(t *testing.T) {
	var table Table
	_, err := table.Builtin("abacus")
	hasCode(t, err, Argument)
	must.Fail(t, err, "digits")
	_, err = table.Read([]byte("nonsense"))
	hasCode(t, err, Unusable)
	for _, path := range []string{"/nonexistent", os.DevNull, t.TempDir()} {
		_, err = table.Load(path)
		hasCode(t, err, Unusable)
		must.Fail(t, err, path)
	}
	h := must.Get(table.Load("../../../pretrained/commands.safetensors"))(t)
	m := must.Get(table.Model(h))(t)
	must.Equal(t, m.SampleRate(), 16000, "sampling rate")
	bad := m.Options
	bad.Confirm = 0
	_, err = table.WithOptions(h, bad)
	hasCode(t, err, Argument)
	must.Fail(t, err, "confirm 0")
}

// Streams of a model run in several goroutines, and one stream is fought over.
func TestConcurrency(t *testing.T) {
	table, model, shared := sensitive(t)
	x := testfiles.Sounds(2, 8000, 1)
	want := must.Get(must.Get(table.Model(model))(t).Recognize(x))(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			room := make([]Event, 64)
			for range 3 {
				h, err := table.NewStream(model)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := table.process(h, x, room)
				last, ended := table.Use(h, func(s *Stream) (int, error) { return s.Flush(room[n:]) })
				if err != nil || ended != nil || n+last != len(want) {
					t.Errorf("%d and %d events and errors %v and %v, expected %d", n, last, err, ended, len(want))
				}
				if _, err := table.process(shared, x[:800], room); err != nil && CodeOf(err) != Busy && CodeOf(err) != Invalid {
					t.Error(err)
				}
				if err := table.DestroyStream(h); err != nil {
					t.Error(err)
				}
			}
			table.DestroyStream(shared)
		})
	}
	wg.Wait()
	must.Equal(t, len(table.objects), 1, "objects")
}

// A call allocates nothing.
func TestAllocations(t *testing.T) {
	table, _, stream := sensitive(t)
	x, room := testfiles.Sounds(2, 8000, 1), make([]Event, 64)
	run := func() {
		if _, err := table.process(stream, x, room); err != nil {
			t.Fatal(err)
		}
	}
	run()
	runtime.GC()
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations per call, expected none", n)
	}
}
