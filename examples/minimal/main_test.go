package main

import (
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A synthetic voice says "five" and "zero". The example finds both, with their times, in files of
// several rates and channels.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var words []string
	for _, word := range []string{"five", "zero"} {
		path := filepath.Join(dir, word+".wav")
		program(t, "espeak-ng", "-v", "en-us-nyc+m7", "-s", "150", "-w", path, word)
		words = append(words, path)
	}
	for _, format := range []struct{ rate, channels string }{{"8000", "1"}, {"16000", "1"}, {"44100", "2"}} {
		var padded []string
		for i, word := range words {
			path := filepath.Join(dir, fmt.Sprint(i, ".wav"))
			program(t, "sox", "-R", word, "-r", format.rate, "-c", format.channels, path, "gain", "-n", "-6", "pad", "0.5", "2", "trim", "0", "2")
			padded = append(padded, path)
		}
		path := filepath.Join(dir, "both.wav")
		program(t, "sox", append(padded, path)...)
		var out bytes.Buffer
		must.Do(t, run(path, &out))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2 {
			t.Fatalf("%+v: output %q, expected one line per word", format, out.String())
		}
		for i, digit := range []string{"5", "0"} {
			var onset, end, confidence float64
			var label string
			if _, err := fmt.Sscanf(lines[i], "%f s to %f s %s (%f)", &onset, &end, &label, &confidence); err != nil {
				t.Fatalf("%+v: line %q: %v", format, lines[i], err)
			}
			if first := 0.5 + 2*float64(i); label != digit || math.Abs(onset-first) > 0.2 || end < onset+0.1 || end > first+1.2 || confidence > 1 {
				t.Errorf("%+v: line %q, expected digit %s from about %.2f s on", format, lines[i], digit, first)
			}
		}
	}
}

// program runs a program, or skips the test if it is not installed.
func program(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name, "is not installed")
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}
