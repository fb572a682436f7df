package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// An event is right once, near the beginning of a word of its label; else it is mistaken, or there is no word.
func TestCompare(t *testing.T) {
	words := []word{{1000, 3000, "a"}, {5000, 8000, "b"}, {9000, 9900, "b"}, {20000, 21000, "c"}}
	heard := []events.Event{
		{Onset: 900, Label: "a"},    // right
		{Onset: 1300, Label: "a"},   // the same again: an event too many
		{Onset: 5500, Label: "a"},   // mistaken
		{Onset: 9100, Label: "b"},   // right
		{Onset: 18900, Label: "c"},  // too early
		{Onset: 100000, Label: "c"}, // where nothing is
	}
	s := compare(words, heard, 1000)
	if s != (score{words: 4, events: 6, right: 2, mistaken: 1, false: 2}) {
		t.Fatalf("%+v", s)
	}
	if s.precision() != 2./6 || s.recall() != 2./4 || s.f1() != 4./10 {
		t.Errorf("precision %v, recall %v, F1 %v", s.precision(), s.recall(), s.f1())
	}
}

// The model in the binary hears what pretrained/README.md says it does.
func TestDigits(t *testing.T) {
	dir := filepath.Join(os.Getenv("S4D_DATA"), "fsdd")
	if _, err := os.Stat(dir); os.Getenv("S4D_DATA") == "" || err != nil {
		t.Skip("S4D_DATA is not set, or holds no fsdd")
	}
	if testing.Short() {
		t.Skip("some minutes of sound")
	}
	m, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	finder, err := events.New(m, events.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	clips, err := dataset.Load("fsdd", dataset.Options{Dir: dir, Split: "val"})
	if err != nil {
		t.Fatal(err)
	}
	stream, words, err := build(clips, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := measure(finder, stream, words, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if len(words) != 300 || r.words.f1() < 0.9 || r.noise > 1 || r.music > 1 {
		t.Errorf("F1 %.3f of %d words, %v and %v false events a minute of noise and of music", r.words.f1(), len(words), r.noise, r.music)
	}
}
