package events_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
)

// With every kind of layer, a Detector that is repeatedly restored from its snapshots returns the
// same events and posteriors as one that is not.
func TestSnapshot(t *testing.T) {
	samples, frames := toneModel(t), must.Get(tonemodel.NewFramewise())(t)
	models := map[string]*model.Model{"samples": samples, "frames": frames}
	for _, c := range tonemodel.Layers() {
		for input, like := range map[string]*model.Model{"samples": samples, "frames": frames} {
			models[string(c.Layer)+" "+input] = must.Get(tonemodel.Untrained(like, c))(t)
		}
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) { snapshots(t, must.Get(events.New(m, events.DefaultsFor(m)))(t)) })
	}
}

// snapshots restores a Detector repeatedly from its snapshots, and compares it with a Detector that
// is never restored.
func snapshots(t *testing.T, r *events.Recognizer) {
	s := tonemodel.Words()
	want := detect(t, r, s.Samples, len(s.Samples))
	posteriors := map[float32]bool{}
	sizes := []int{743}
	if !vektest.Emulated { // emulation is slow: one size only
		sizes = append(sizes, 2417, 9001)
	}
	if !testing.Short() {
		sizes = append(sizes, 79)
	}
	for _, every := range sizes {
		whole, d := r.NewDetector(), r.NewDetector()
		var got []events.Event
		for part := range slices.Chunk(s.Samples, every) {
			process(t, whole, part)
			got = append(got, process(t, d, part)...)
			if p := d.Posterior(); p != nil { // there was an evaluation after Restore
				if !slices.Equal(p, whole.Posterior()) {
					t.Fatalf("restored every %d samples: posteriors %v at %d, expected %v", every, p, d.Position(), whole.Posterior())
				}
				posteriors[p[0]] = true
			}
			next := r.NewDetector()
			process(t, next, s.Samples[3500:3500+min(every, 1500)]) // Restore must discard these samples
			must.Do(t, next.Restore(d.Snapshot()))
			if d = next; d.Position() != whole.Position() || d.GateOpen() != whole.GateOpen() {
				t.Fatalf("restored at %d, gate open: %t; expected %d, %t", d.Position(), d.GateOpen(), whole.Position(), whole.GateOpen())
			}
		}
		must.Equal(t, fmt.Sprint(append(got, flush(t, d)...)), fmt.Sprint(want), "restored every %d samples", every)
	}
	if len(want) == 0 || len(posteriors) < 20 {
		t.Errorf("%d events and %d different posteriors, expected at least 1 event and 20 posteriors", len(want), len(posteriors))
	}
}

// Each kind of invalid snapshot has its error and leaves the Detector as it was.
func TestRestoreErrors(t *testing.T) {
	s := tonemodel.Words()
	r := recognizer(t, events.Defaults())
	d := r.NewDetector()
	process(t, d, s.Samples[:5000])
	good := d.Snapshot()
	edit := func(at int, value ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], value)
		return signed(b)
	}

	weights, labels := toneModel(t), toneModel(t)
	weights.Weights.DecoderBias[0]++
	labels.Meta.Labels[0] = "other"
	of := func(m *model.Model) *events.Recognizer {
		return must.Get(events.New(m, events.Defaults()))(t)
	}
	level := bytes.Index(good, []byte("S4DSTATE")) + 12
	nested := edit(level, []byte("abacus\x00\x00")...)
	inner := nested[level-12 : len(nested)-4]
	copy(inner, signed(inner))
	const confidence = 150 // offset of segment.Confidence
	for _, c := range []struct {
		name, want string
		recognizer *events.Recognizer
		snapshot   []byte
	}{
		{"empty", `does not begin with "S4DEVENT"`, r, nil},
		{"gob of an earlier version", `does not begin with "S4DEVENT"`, r, []byte("\x7f\xff\x81\x03\x01\x01\x06memory\x01\xff\x82\x00")},
		{"version", "format version 7, this program reads version 4", r, edit(8, 7)},
		{"truncated", "damaged or truncated", r, good[:len(good)-1]},
		{"truncated head", "truncated", r, signed(good[:100])},
		{"a bit changed", "damaged or truncated", r, flip(good, len(good)/2)},
		{"other threshold", "taken with Threshold 0.7, this detector has 0.9", recognizer(t, events.Defaults().WithThreshold(0.9)), good},
		{"other refractory time", "taken with Refractory ", recognizer(t, with(func(o *events.Options) { o.Refractory++ })), good},
		{"other weights", "another model", of(weights), good},
		{"other labels", "another model", of(labels), good},
		{"other level", "set S4D_LEVEL=abacus", r, signed(nested)},
		{"negative position", "position -", r, edit(83, 0x80)},
		{"position that overflows", "position 9223372036854775807", r, edit(76, 255, 255, 255, 255, 255, 255, 255, 0x7f)},
		{"confidence", "a confidence of NaN", r, edit(confidence, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)},
		{"sample of a frame", "a sample is not a number from ", r, edit(212, 0, 0, 0xc0, 0x7f)},
		{"past sample", "a sample is not a number from ", r, edit(212+4*(5000%80), 0, 0, 0xc0, 0x7f)},
		{"a flag of 2", "invalid value", r, edit(92, 2)},
	} {
		d := c.recognizer.NewDetector()
		process(t, d, s.Samples[:3000])
		before := d.Snapshot()
		if err := d.Restore(c.snapshot); err == nil || !strings.HasPrefix(err.Error(), "events: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected one that contains %q", c.name, err, c.want)
		}
		if !bytes.Equal(d.Snapshot(), before) {
			t.Errorf("%s: the error changed the detector", c.name)
		}
	}
}

// Bytes with a correct checksum are rejected and change nothing, or they are the snapshot of the
// Detector that they restore, and its events are valid.
// To fuzz: go test -fuzz=FuzzRestore$ -fuzzminimizetime=1s ./events
func FuzzRestore(f *testing.F) {
	// Short frames and a short window make small seeds, of less than 2 kB.
	fuzzRestore(f, recognizer(f, with(func(o *events.Options) { o.SampleRate, o.Window = 500, 0.1 })))
}

// The same for a model that labels every frame.
func FuzzRestoreFramewise(f *testing.F) {
	fuzzRestore(f, framewise(f, func(o *events.Options) { o.Smoothing = 0.02 }))
}

func fuzzRestore(f *testing.F, r *events.Recognizer) {
	s := tonemodel.Words()
	for _, n := range []int{0, 3000, 5010} {
		d := r.NewDetector()
		process(f, d, s.Samples[:n])
		f.Add(d.Snapshot())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = signed(b)
		d := r.NewDetector()
		before := d.Snapshot()
		if err := d.Restore(b); err != nil {
			b = before
		}
		if got := d.Snapshot(); !bytes.Equal(got, b) {
			t.Fatalf("snapshot %x, expected %x", got, b)
		}
		list, err := d.Process(s.Samples[:4000])
		for _, e := range list {
			if err == nil && !(e.Onset < e.End && e.End <= d.Position() && e.Confidence >= 0 && e.Confidence <= 1) {
				t.Errorf("event %+v at position %d", e, d.Position())
			}
		}
	})
}

// Sizes in a forged snapshot, with a correct checksum, cost no more memory than the stream's own.
func TestReaderBounds(t *testing.T) {
	for _, r := range []*events.Recognizer{
		recognizer(t, with(func(o *events.Options) { o.SampleRate, o.Window = 500, 0.1 })),
		framewise(t, func(o *events.Options) { o.Smoothing = 0.02 }),
	} {
		d := r.NewDetector()
		process(t, d, tonemodel.Words().Samples[:5010])
		b := d.Snapshot()
		must.HugeNumbers(t, 4*len(b)+1<<16, b, func(b []byte) { _ = d.Restore(signed(b)) })
		long := signed(append(b, make([]byte, 16<<20)...))
		must.Allocates(t, len(b)+1<<16, func() { must.Fail(t, d.Restore(long), "recurrent: snapshot: ") }, "a long snapshot")
		copy(long[184:212], make([]byte, 28)) // lengths
		binary.LittleEndian.PutUint32(long[204:], 1<<20)
		long = signed(long)
		must.Allocates(t, 1<<16, func() { must.Fail(t, d.Restore(long), "1048576 offsets") }, "many offsets")
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// signed replaces a snapshot's checksum by the right one.
func signed(b []byte) []byte {
	body := b[:max(0, len(b)-4)]
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// Every truncation and every flipped bit of a snapshot is an error, and the Detector stays as it
// was.
func TestDamagedSnapshot(t *testing.T) {
	r := recognizer(t, with(func(o *events.Options) { o.SampleRate, o.Window = 500, 0.1 }))
	first, s := r.NewDetector(), r.NewDetector()
	process(t, first, tonemodel.Words().Samples[:3000])
	before := s.Snapshot()
	must.Damage(t, "a damaged snapshot of package events is rejected", first.Snapshot(), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(), before)
	})
}
