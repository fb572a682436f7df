package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The ways differ in time, not in the state of the streams. Every stream is counted once per block.
func TestWays(t *testing.T) {
	networks := must.Get(networks())(t)
	var first []byte
	for _, w := range ways {
		b := newMeasurement(networks[0], w, 2*time.Millisecond)
		streams := b.some(3)
		advanced := 0
		b.run(b, streams, func(done int) { advanced = done })
		if advanced != len(streams) {
			t.Errorf("%s: %d of %d streams are done", w.name, advanced, len(streams))
		}
		for i, s := range streams {
			got := s.Snapshot(nil)
			must.Equal(t, s.Position(), 16, "%s: stream %d is at sample", w.name, i)
			if first == nil {
				first = got
			}
			if !bytes.Equal(got, first) {
				t.Errorf("%s: stream %d has another state", w.name, i)
			}
		}
	}
}

// Detectors are counted like streams.
func TestDetectors(t *testing.T) {
	n := must.Get(newDetectors("commands"))(t)
	must.Equal(t, n.name, "commands: H=128 N=32 layers=5 at 16 kHz, 50 frames per second", "name")
	b := newMeasurement(n, way{"Detector", processDetectors}, 20*time.Millisecond)
	b.some(5)
	advanced := 0
	b.run(b, b.some(3), func(done int) { advanced = done })
	must.Equal(t, advanced, 3, "detectors that are done")
	for i, want := range []int64{320, 320, 320, 0, 0} {
		must.Equal(t, b.detectors[i].Position(), want, "detector %d is at sample", i)
	}
	if late := b.latencies(2, 0.04); len(late) != 4 || late[0] <= 0 {
		t.Errorf("%d latencies of 2 detectors and 2 blocks: %v", len(late), late)
	}
}

func TestCapacity(t *testing.T) {
	networks := must.Get(networks())(t)
	b := newMeasurement(networks[0], ways[0], 5*time.Millisecond)
	perSample, streams := b.capacity(0.01)
	if perSample <= 0 {
		t.Errorf("%v s a sample, expected more than 0", perSample)
	}
	if most := max(1, 1/(b.rate*perSample)); streams < 1 || float64(streams) > most {
		t.Errorf("%d streams, expected 1 to %v", streams, most)
	}
	if late := b.latencies(2, 0.02); len(late) != 8 || late[0] <= 0 {
		t.Errorf("%d latencies of 2 streams and 4 blocks: %v", len(late), late)
	}
}
