package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// The ways differ in time, not in the state of the streams. Every stream is counted once per block.
func TestWays(t *testing.T) {
	net := must.Get(recurrent.New(must.Get(model.New(model.Default(), 1))(t), recurrent.Options{}))(t)
	audio := (&subject{rate: 8000}).audio(2 * time.Millisecond)
	var first []byte
	for k, w := range (&streams{net: net}).ways() {
		own := &streams{net: net}
		advanced := 0
		own.ways()[k].start(3, audio)(func(done int) { advanced = done })
		must.Equal(t, advanced, 3, "%s: streams that are done", w.name)
		for i, s := range own.all {
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
func TestSubjects(t *testing.T) {
	all := must.Get(subjects())(t)
	d := all[2]
	must.Equal(t, d.name, "commands: H=128 N=32 layers=5 at 16 kHz, 50 frames per second", "name")
	block := 20 * time.Millisecond
	if late := latencies(d.ways[0].start(2, d.audio(block)), block, 0.04); len(late) != 4 || late[0] <= 0 {
		t.Errorf("%d latencies of 2 detectors and 2 blocks: %v", len(late), late)
	}
	perSample, n := d.capacity(d.ways[0], d.audio(block), 0.01)
	if most := max(1, 1/(d.rate*perSample)); !(perSample > 0) || n < 1 || float64(n) > most {
		t.Errorf("%d streams of %v s a sample, expected 1 to %v", n, perSample, most)
	}
}
