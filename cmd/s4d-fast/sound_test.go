package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// synthesised runs a program that writes a sound file, or skips the test if it is not installed.
func synthesised(t *testing.T, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
}

// labelsIn returns the labels of the events that the built-in model finds in a sound file.
func labelsIn(t *testing.T, path string) (labels []string) {
	t.Helper()
	found, _ := lines(t, ok(t, "stream", path, "--resample"))
	for _, e := range found {
		labels = append(labels, e.Label)
	}
	return labels
}

// The built-in model recognises most digits in synthetic voices that were not in its training data,
// with few errors.
func TestSynthesisedVoices(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of speech")
	}
	dir := t.TempDir()
	right, wrong, spoken := 0, 0, 0
	for _, voice := range []string{"en-us-nyc+m7", "en-gb-x-rp+f4", "en-gb-x-gbcwmd+m8", "en-us-nyc+steph"} {
		for digit, word := range strings.Fields("zero one two three four five six seven eight nine") {
			raw, path := filepath.Join(dir, "raw.wav"), filepath.Join(dir, "word.wav")
			synthesised(t, "espeak-ng", "-v", voice, "-s", "150", "-w", raw, word)
			synthesised(t, "sox", "-R", raw, path, "gain", "-n", "-6", "pad", "0.5", "0.5")
			spoken++
			for _, label := range labelsIn(t, path) {
				if label == fmt.Sprint(digit) {
					right++
				} else {
					wrong++
					t.Logf("%s: %q is recognised as %s", voice, word, label)
				}
			}
		}
	}
	t.Logf("%d digits: %d events are right, %d wrong", spoken, right, wrong)
	if right < spoken*7/10 {
		t.Errorf("%d of %d digits are recognised, expected at least 70 %%", right, spoken)
	}
	if wrong > spoken/20 {
		t.Errorf("%d wrong events in %d digits, expected at most 5 %%", wrong, spoken)
	}
}

// A minute each of noise, of a rising tone and of plucked strings gives at most one event.
func TestSynthesisedNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("three minutes of sound")
	}
	note := func(pitches ...string) (effects []string) {
		effects = append(effects, "synth", "0.4")
		for _, p := range pitches {
			effects = append(effects, "pluck", p)
		}
		return append(effects, "remix", "-", "vol", "0.4", ":")
	}
	var tune []string
	for range 30 {
		for _, chord := range []string{"C3 E4", "G3", "A3 C4 E4", "E3", "F3 A4"} {
			tune = append(tune, note(strings.Fields(chord)...)...)
		}
	}
	for name, effects := range map[string][]string{
		"pink noise": {"synth", "60", "pinknoise", "vol", "0.2"},
		"rising":     {"synth", "60", "triangle", "100:3000", "vol", "0.2"},
		"strings":    tune[:len(tune)-1],
	} {
		path := filepath.Join(t.TempDir(), "sound.wav")
		synthesised(t, "sox", append([]string{"-R", "-n", "-r", "8000", "-b", "16", path}, effects...)...)
		if labels := labelsIn(t, path); len(labels) > 1 {
			t.Errorf("%s: events %q, expected at most one", name, labels)
		}
	}
}
