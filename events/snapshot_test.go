package events_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/snapshot"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// With every kind of layer and input, a Stream that is repeatedly restored from its snapshots
// returns the same events and posteriors as one that is not.
func TestSnapshot(t *testing.T) {
	clips, frames := must.Get(tonemodel.NewClips())(t), toneModel(t)
	models := map[string]*model.Model{"clips": clips, "frames": frames}
	for _, c := range tonemodel.Layers() {
		for input, like := range map[string]*model.Model{"clips": clips, "frames": frames} {
			models[string(c.Layer)+" "+input] = must.Get(untrained(like, c))(t)
		}
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) { snapshots(t, must.Get(events.New(m, events.DefaultsFor(m)))(t)) })
	}
}

// untrained returns a network of two such layers with random weights, and the input and labels of
// the model like. Its thresholds are low, so it finds many events.
func untrained(like *model.Model, layer ssm.Config) (*model.Model, error) {
	c := model.Default()
	c.DInput, c.DOutput, c.Pool, c.DModel, c.NLayers, c.SSM = like.Config.DInput, 3, like.Config.Pool, 4, 2, layer
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	m.Meta = like.Meta
	m.Meta.Detection = &model.Detection{Threshold: 0.1, OffThreshold: 0.1, Confirm: 1}
	m.Weights.DecoderBias[2] -= 2 // makes the label "none" unlikely
	return m, nil
}

// snapshots restores a Stream repeatedly from its snapshots, and compares it with a Stream that is
// never restored.
func snapshots(t *testing.T, r *events.Recognizer) {
	x := tonemodel.Words().Samples
	want := listen(t, stream(t, r), x, len(x))
	posteriors := map[float32]bool{}
	sizes := []int{743}
	if !vektest.Emulated && !testing.Short() { // emulation is slow: one size only
		sizes = append(sizes, 79, 9001)
	}
	for _, every := range sizes {
		whole, s := stream(t, r), stream(t, r)
		var got []events.Event
		for part := range slices.Chunk(x, every) {
			must.Get(whole.Process(part))(t)
			got = append(got, must.Get(s.Process(part))(t)...)
			if p := s.Posterior(); p != nil { // there was a frame after Restore
				if !slices.Equal(p, whole.Posterior()) {
					t.Fatalf("restored every %d samples: posteriors %v at %d, expected %v", every, p, s.Position(), whole.Posterior())
				}
				posteriors[p[0]] = true
			}
			next := stream(t, r)
			must.Get(next.Process(x[3500 : 3500+min(every, 1500)]))(t) // Restore must discard these samples
			must.Do(t, next.Restore(s.Snapshot()))
			s = next
			must.Equal(t, s.Position(), whole.Position(), "position")
		}
		must.Equal(t, fmt.Sprint(append(got, must.Get(s.Flush())(t)...)), fmt.Sprint(want), "restored every %d samples", every)
	}
	if len(want) == 0 || len(posteriors) < 20 {
		t.Errorf("%d events and %d different posteriors, expected at least 1 event and 20 posteriors", len(want), len(posteriors))
	}
}

// Each kind of invalid snapshot has its error and leaves the Stream as it was.
func TestRestoreErrors(t *testing.T) {
	x := tonemodel.Words().Samples
	r := recognizer(t, toneOptions())
	s := stream(t, r)
	must.Get(s.Process(x[:5010]))(t)
	good := s.Snapshot()
	const position, leader, lengths = 60, 84, 143 // offsets of fields
	edit := func(at int, value ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], value)
		return signed(b)
	}
	weights := toneModel(t)
	weights.Weights.DecoderBias[0]++
	level := bytes.LastIndex(good, []byte("S4DSTATE")) + 12
	nested := edit(level, []byte("abacus\x00\x00")...)
	inner := nested[level-12 : len(nested)-4]
	copy(inner, signed(inner))
	threshold := toneOptions().WithThreshold(0.9)
	for _, c := range []struct {
		want     string
		r        *events.Recognizer
		snapshot []byte
	}{
		{`does not begin with "S4DEVENT"`, r, nil},
		{"format version 7, this program reads version 1", r, edit(8, 7)},
		{"damaged or truncated", r, good[:len(good)-1]},
		{"truncated", r, signed(good[:100])},
		{"truncated", r, signed(good[:len(good)/4])},
		{"taken with Threshold, OffThreshold, Confirm, Refractory and Smoothing [0.7 ", recognizer(t, threshold), good},
		{"another model", must.Get(events.New(weights, toneOptions()))(t), good},
		{"set S4D_LEVEL=abacus", r, signed(nested)},
		{"position -", r, edit(position+7, 0x80)},
		{"labels 7 and 0", r, edit(leader, 7, 0, 0, 0)},
		{"samples of a frame", r, edit(lengths, 80)},
		{"taken with 7 offsets", r, edit(lengths+8, 7)},
	} {
		s := stream(t, c.r)
		must.Get(s.Process(x[:3000]))(t)
		before := s.Snapshot()
		must.Fail(t, s.Restore(c.snapshot), "events: snapshot: ", c.want)
		if !bytes.Equal(s.Snapshot(), before) {
			t.Errorf("%s: the error changed the stream", c.want)
		}
	}
}

// Bytes with a correct checksum are rejected, or they are a state in which the Stream can process
// audio.
// To fuzz: go test -fuzz=FuzzRestore$ -fuzzminimizetime=1s ./events
func FuzzRestore(f *testing.F) {
	o := toneOptions()
	o.Smoothing = 0.02
	r := recognizer(f, o)
	x := tonemodel.Words().Samples
	for _, n := range []int{0, 3000, 5010} {
		s := stream(f, r)
		must.Get(s.Process(x[:n]))(f)
		f.Add(s.Snapshot())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := stream(t, r)
		_ = s.Restore(signed(b))
		s.Process(x[:4000])
		s.Flush()
	})
}

// Every truncation and every flipped bit of a snapshot is an error, and the Stream stays as it was.
func TestDamagedSnapshot(t *testing.T) {
	o := toneOptions()
	o.Smoothing = 0.02
	r := recognizer(t, o)
	first, s := stream(t, r), stream(t, r)
	must.Get(first.Process(tonemodel.Words().Samples[:3000]))(t)
	before := s.Snapshot()
	must.Damage(t, first.Snapshot(), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(), before)
	})
}

// signed replaces a snapshot's checksum by the right one.
func signed(b []byte) []byte { return snapshot.End(bytes.Clone(b[:max(0, len(b)-4)]), 0) }
