package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The first event near the onset of a word is right if it has its label. Others count as events of
// another label or as events without a word.
func TestCompare(t *testing.T) {
	words := []word{{1000, 3000, "a"}, {5000, 8000, "b"}, {9000, 9900, "b"}, {20000, 21000, "c"}}
	found := []events.Event{
		{Onset: 900, Label: "a"},    // right
		{Onset: 1300, Label: "a"},   // the same word again
		{Onset: 5500, Label: "a"},   // of another label
		{Onset: 9100, Label: "b"},   // right
		{Onset: 18900, Label: "c"},  // too early
		{Onset: 100000, Label: "c"}, // without a word
	}
	s := compare(words, found, 1000)
	if s != (score{words: 4, events: 6, correct: 2, mistaken: 1, false: 2}) {
		t.Fatalf("%+v", s)
	}
	if s.precision() != 2./6 || s.recall() != 2./4 || s.f1() != 4./10 {
		t.Errorf("precision %v, recall %v, F1 %v", s.precision(), s.recall(), s.f1())
	}
}

// The built-in model is as good as pretrained/README.md states.
func TestDigits(t *testing.T) {
	dir := filepath.Join(os.Getenv("S4D_DATA"), "fsdd")
	if _, err := os.Stat(dir); os.Getenv("S4D_DATA") == "" || err != nil {
		t.Skip("S4D_DATA is not set, or has no folder fsdd")
	}
	if testing.Short() {
		t.Skip("recognises ten minutes of sound")
	}
	r, clips := digits(t), dataset.Options{Dir: dir, Split: "val"}
	data := must.Get(dataset.Load("fsdd", clips))(t)
	for levels, least := range map[string]float64{equal: 0.9, natural: 0.7} {
		o := options{snr: 20, levels: levels, seed: 1, minutes: 1}
		stream, words, err := o.build(data, data.Val)
		must.Do(t, err)
		got := must.Get(o.measure(r, stream, words))(t)
		t.Logf("%s levels: %+v", levels, got)
		must.Equal(t, len(words), 300, "words")
		if f1 := got.words.f1(); f1 < least {
			t.Errorf("%s levels: F1 %.3f, expected at least %v", levels, f1, least)
		}
		for _, v := range got.others {
			if v.perMinute() > 1 {
				t.Errorf("%s levels: %.2f false events per minute of %s, expected at most 1", levels, v.perMinute(), v.name)
			}
		}
	}
}

func digits(t *testing.T) *events.Recognizer {
	t.Helper()
	m := must.Get(load(""))(t)
	return must.Get(events.New(m, events.Defaults()))(t)
}

// Speech is read from all WAV files of a folder, at the model's rate and at the chosen level.
func TestReadSpeech(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "inner"), 0o777))
	clip := make([]float32, 1600)
	for i := range clip {
		clip[i] = float32(0.01 * math.Sin(0.3*float64(i)))
	}
	for _, name := range []string{"a.wav", filepath.Join("inner", "b.WAV")} {
		must.Do(t, audio.WriteWAVFile(filepath.Join(dir, name), 16000, clip))
	}
	for levels, want := range map[string]float64{equal: speechLevel, natural: rms(clip)} {
		x := must.Get(options{levels: levels, speech: dir}.readSpeech(8000))(t)
		if len(x) != 1600 {
			t.Errorf("%s levels: %d samples of two clips of 800", levels, len(x))
		}
		if got := rms(x); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%s levels: level %v, expected %v", levels, got, want)
		}
	}
	if _, err := (options{speech: filepath.Join(dir, "none")}).readSpeech(8000); err == nil {
		t.Error("a folder that does not exist: no error")
	}
}
