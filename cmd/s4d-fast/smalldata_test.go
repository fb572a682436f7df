package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// Data that are too few to train on are an error that names the place. Nothing is written.
func TestTooFewData(t *testing.T) {
	dir := t.TempDir()
	sound := testfiles.Sounds(1, 16000, 1)
	folder := func(name string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(path, 0o777))
		return path
	}
	save := func(path string, x []float32) {
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		testfiles.Clip(t, path, 16000, x)
	}
	save(filepath.Join(folder("one"), "yes", "a.wav"), sound)
	save(filepath.Join(folder("silent"), "yes", "a.wav"), nil)
	save(filepath.Join(folder("silent"), "no", "b.wav"), nil)
	rows := func(name, text string) string {
		path := filepath.Join(folder("tables"), name)
		testfiles.Write(t, path, text)
		return path
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"audio", "--data", folder("empty")}, []string{"empty"}},
		{[]string{"audio", "--data", folder("one")}, []string{"one"}},
		{[]string{"audio", "--data", folder("silent")}, []string{"silent"}},
		{[]string{"series", "--data", rows("header.csv", "a,b,label\n")}, []string{"header.csv"}},
		{[]string{"series", "--data", rows("single.csv", "a,b,label\n1,2,x\n")}, []string{"single.csv"}},
		{[]string{"series", "--data", rows("nothing.csv", "")}, []string{"nothing.csv"}},
	} {
		out := filepath.Join(dir, "run")
		code, _, stderr := invoke(nil, append(append([]string{"train"}, c.args...), "--out", out)...)
		must.Equal(t, code, exitBadInput, "train %v: exit code; stderr %s", c.args, stderr)
		contains(t, strings.Join(c.args, " "), stderr, c.want...)
		if _, err := os.Stat(out); err == nil {
			t.Errorf("train %v left a run folder", c.args)
			must.Do(t, os.RemoveAll(out))
		}
	}
	words, background := filepath.Join(folder("one"), "yes"), filepath.Join(folder("hush"), "c.wav")
	save(background, nil)
	save(filepath.Join(folder("spoken"), "1", "a.wav"), sound)
	broken := filepath.Join(folder("hush-broken"), "broken.wav")
	testfiles.Write(t, broken, "RIFF")
	for _, args := range [][]string{
		{"calibrate", "digits", "--words", folder("spoken"), "--background", background, "--write", filepath.Join(dir, "m.safetensors")},
		{"calibrate", "digits", "--background", background},
		{"calibrate", "digits", "--background", background, "--background", words},
		{"calibrate", "digits", "--background", broken, "--skip-broken"},
	} {
		code, _, stderr := invoke(nil, args...)
		contains(t, strings.Join(args, " "), stderr, "hush", " has no samples")
		if args[len(args)-1] == "--skip-broken" {
			contains(t, "the reason", stderr, "broken.wav: ")
		}
		must.Equal(t, code, exitBadInput, "%v: exit code; stderr %s", args, stderr)
	}
}
