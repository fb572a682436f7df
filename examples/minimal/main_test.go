package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

const asProcess = "MINIMAL_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

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

// Output that cannot be written is an error.
func TestOutputFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "five.wav")
	program(t, "espeak-ng", "-v", "en-us-nyc+m7", "-s", "150", "-w", path, "five.")
	must.Fail(t, run(path, must.Get(os.Open(os.DevNull))(t)), "write "+os.DevNull) // opened for reading only
}

// Wrong arguments end the program with exit code 2, and a missing file with 1. Standard output
// stays empty.
func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.wav")
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{{nil, 2, "usage: "}, {[]string{"a", "b"}, 2, "usage: "}, {[]string{missing}, 1, missing}} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(must.Get(os.Executable())(t), c.args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asProcess+"=1"), &stdout, &stderr
		var exit *exec.ExitError
		err := cmd.Run()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulated program cannot start itself")
		}
		if !errors.As(err, &exit) || exit.ExitCode() != c.code {
			t.Errorf("%q: %v, expected exit code %d", c.args, err, c.code)
		}
		if stdout.Len() > 0 || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: output %q and errors %q, expected an error with %q", c.args, stdout.String(), stderr.String(), c.stderr)
		}
	}
}
