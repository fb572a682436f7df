package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// synthesised runs a program of Debian's that writes a sound file, and skips the test where it is not installed.
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

// heardIn returns the labels of the events in a sound file, whatever its rate, by the model in the binary.
func heardIn(t *testing.T, path string) (labels []string) {
	t.Helper()
	heard, _ := lines(t, ok(t, "stream", path, "--resample"))
	for _, e := range heard {
		labels = append(labels, e.Label)
	}
	return labels
}

// The model in the binary knows digits in voices that nobody trained it on: most of them, and seldom a wrong one.
func TestSynthesisedVoices(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of speech")
	}
	dir := t.TempDir()
	right, wrong, said := 0, 0, 0
	for _, voice := range []string{"en-us", "en-us+m3", "en-us+f2", "en-gb-scotland"} {
		for digit, word := range strings.Fields("zero one two three four five six seven eight nine") {
			raw, path := filepath.Join(dir, "raw.wav"), filepath.Join(dir, "word.wav")
			synthesised(t, "espeak-ng", "-v", voice, "-s", "150", "-w", raw, word)
			synthesised(t, "sox", "-R", raw, path, "gain", "-n", "-6", "pad", "0.5", "0.5")
			said++
			for _, label := range heardIn(t, path) {
				if label == fmt.Sprint(digit) {
					right++
				} else {
					wrong++
					t.Logf("%s: %q is heard as %s", voice, word, label)
				}
			}
		}
	}
	t.Logf("%d digits: %d heard right, %d wrong", said, right, wrong)
	if right < said*7/10 || wrong > said/20 {
		t.Errorf("of %d digits %d are heard right and %d wrong", said, right, wrong)
	}
}

// A minute each of noise, of a rising tone and of plucked strings has no more than one digit in it.
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
		if labels := heardIn(t, path); len(labels) > 1 {
			t.Errorf("%s: digits %q", name, labels)
		}
	}
}
