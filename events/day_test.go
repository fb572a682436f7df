package events_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// A kind of input, and its samples.
type kind struct {
	name    string
	samples []float32
}

// kinds returns seconds of every kind of input at a rate in Hz: what a microphone records, and
// signals whose numbers are unusual.
func kinds(t testing.TB, seconds, rate int) []kind {
	n := seconds * rate
	fill := func(f func(i int) float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(f(i))
		}
		return x
	}
	rng := rand.New(rand.NewPCG(1, 2))
	speech, err := testfiles.Speech(t.TempDir(), rate, "seven", "yes", "computer", "three", "stop", "snowboy", "zero", "go")
	if err != nil {
		speech = testfiles.Sounds(float64(seconds), rate, 3)
	}
	for len(speech) < n {
		speech = append(speech, speech...)
	}
	return []kind{
		{"silence", make([]float32, n)},
		{"noise", fill(func(int) float64 { return 0.1 * rng.NormFloat64() })},
		{"speech", speech[:n]},
		{"square", fill(func(i int) float64 { return float64(1 - 2*(i*200/rate%2)) })},
		{"DC", fill(func(int) float64 { return 0.5 })},
		{"denormals", fill(func(int) float64 { return 1e-40 * rng.NormFloat64() })},
	}
}

// heap returns the bytes in use without those of a sync.Pool, which a second garbage collection
// frees: each processor may have some.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// In the long form each built-in model processes two days of equal minutes. Each minute has the
// events of the second one, and the memory does not grow. After Flush, events and posteriors are
// those of a new detector for an hour.
func TestDays(t *testing.T) {
	minutes := must.Cases(3, 2*24*60)
	for _, name := range pretrained.Names() {
		m := must.Get(pretrained.Load(name))(t)
		r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		minute, took := kinds(t, 10, int(m.Meta.SampleRate)), map[string]time.Duration{}
		listen := func(d *events.Stream) (found []events.Event) {
			start := d.Position()
			for _, k := range minute {
				began := time.Now()
				for x := range slices.Chunk(k.samples, 1000) {
					found = append(found, later(must.Get(d.Process(x))(t), -start)...)
				}
				took[k.name] += time.Since(began)
			}
			return found
		}
		d := stream(t, r)
		listen(d)
		want := listen(d)
		t.Run(name+" has events", func(t *testing.T) {
			if _, err := exec.LookPath("espeak-ng"); err != nil && len(want) == 0 {
				t.Skip("the events of speech require espeak-ng")
			}
			if len(want) == 0 {
				t.Error("a minute with speech has no events")
			}
		})
		memory := heap()
		for i := 2; i < minutes; i++ {
			if got := listen(d); !slices.EqualFunc(got, want, same) {
				t.Fatalf("%s: events of minute %d: %+v, expected %+v", name, i, got, want)
			}
		}
		if grown := heap() - memory; grown > 1<<16 {
			t.Errorf("%s: the memory grew by %d bytes in %d minutes", name, grown, minutes)
		}
		for _, k := range minute {
			t.Logf("%s: %s: %.1f ns per sample", name, k.name, float64(took[k.name])/float64(minutes*len(k.samples)))
		}
		must.Get(d.Flush())(t)
		for i, fresh := 0, stream(t, r); i < must.Cases(1, 60); i++ {
			got, want := fmt.Sprint(listen(d), d.Posterior()), fmt.Sprint(listen(fresh), fresh.Posterior())
			must.Equal(t, got, want, "%s: events and posterior %d minutes after Flush", name, i+1)
		}
	}
}

// Speech takes at most 1.1 times as long after an hour of silence or of denormal numbers as in a
// new detector. The test runs in the long form only, because it depends on speed.
func TestSpeechAfterQuiet(t *testing.T) {
	const tens = 360
	if must.Cases(0, tens) == 0 {
		t.Skip("measures time; only in the long form")
	}
	for _, name := range pretrained.Names() {
		m := must.Get(pretrained.Load(name))(t)
		r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		minute := kinds(t, 10, int(m.Meta.SampleRate))
		speech := minute[2].samples
		for _, k := range []kind{minute[0], minute[5]} {
			d := stream(t, r)
			for range tens {
				must.Get(d.Process(k.samples))(t)
			}
			first, after := math.Inf(1), math.Inf(1)
			for range 200 { // the fastest, in turn
				first = min(first, perSample(t, stream(t, r), speech))
				must.Get(d.Process(k.samples))(t)
				after = min(after, perSample(t, d, speech))
			}
			t.Logf("%s: speech: %.1f ns per sample in a new detector, %.1f after an hour of %s, ratio %.3f", name, first, after, k.name, after/first)
			if after > 1.1*first {
				t.Errorf("%s: speech takes %.3f times as long after an hour of %s as in a new detector, expected at most 1.1", name, after/first, k.name)
			}
		}
	}
}

// perSample returns the time in ns that a sample takes.
func perSample(t *testing.T, d *events.Stream, x []float32) float64 {
	began := time.Now()
	must.Get(d.Process(x))(t)
	return float64(time.Since(began)) / float64(len(x))
}

// Sounds below −360 dB are silence: their squares would be denormal numbers, which are slow.
func TestInaudible(t *testing.T) {
	m := must.Get(pretrained.Load("commands"))(t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	posterior := func(v float32) string {
		d := stream(t, r)
		must.Get(d.Process(slices.Repeat([]float32{v, -v}, 8000)))(t)
		return fmt.Sprint(d.Posterior())
	}
	must.Equal(t, posterior(1e-40), posterior(0), "posteriors of denormal samples")
	must.Equal(t, posterior(0.9e-18), posterior(0), "posteriors of inaudible samples")
}

// same compares the events of two minutes. The state of a network forgets earlier audio slowly, so
// confidences may differ in the last digits.
func same(a, b events.Event) bool {
	near := math.Abs(float64(a.Confidence-b.Confidence)) < 1e-5
	a.Confidence = b.Confidence
	return near && a == b
}

// In the long form 10,000 detectors of each built-in model listen to the same minutes, beginning
// with different kinds of input. Each has the events, and after each kind the posterior, of a
// detector that ran alone and began with the same kind. The memory does not grow.
func TestManyStreams(t *testing.T) {
	n := must.Cases(24, 10_000)
	for _, name := range pretrained.Names() {
		m := must.Get(pretrained.Load(name))(t)
		r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
		minute := kinds(t, 2, int(m.Meta.SampleRate))
		hear := func(found []byte, d *events.Stream, first, step int) []byte {
			for x := range slices.Chunk(minute[(first+step)%len(minute)].samples, 1000) {
				for _, e := range must.Get(d.Process(x))(t) {
					found = fmt.Append(found, e)
				}
			}
			return fmt.Append(found, d.Posterior())
		}
		alone := make([][]byte, len(minute)) // in the second minute, by the first kind
		for first := range alone {
			d := stream(t, must.Get(events.New(m, events.DefaultsFor(m)))(t))
			for step := range len(minute) {
				hear(nil, d, first, step)
			}
			for step := range len(minute) {
				alone[first] = hear(alone[first], d, first, step)
			}
		}
		streams := make([]*events.Stream, n)
		for i := range streams {
			streams[i] = stream(t, r)
		}
		all := make([][]byte, n)
		listen := func() {
			for step := range minute {
				var parts sync.WaitGroup
				for part := range 4 { // Streams of a Recognizer run at the same time
					parts.Go(func() {
						for i := part; i < len(streams); i += 4 {
							all[i] = hear(all[i], streams[i], i, step)
						}
					})
				}
				parts.Wait()
			}
		}
		listen()
		clear(all)
		memory := heap()
		listen()
		for i := range all {
			if !bytes.Equal(all[i], alone[i%len(minute)]) {
				t.Fatalf("%s: stream %d: %s, expected %s", name, i, all[i], alone[i%len(minute)])
			}
		}
		clear(all)
		if grown := heap() - memory; grown > int64(n)<<8 {
			t.Errorf("%s: the memory of %d streams grew by %d bytes", name, n, grown)
		}
		t.Logf("%s: %d streams, %d bytes in use", name, n, memory)
		runtime.KeepAlive(streams)
	}
}
