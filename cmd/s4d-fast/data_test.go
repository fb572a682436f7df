package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Task pathfinder trains on what data pathfinder writes. A folder with other data is an error.
func TestData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", dir, "--n", "3", "--eval", "2")
	checkRun(t, nil, []string{"data", "listops", dir, "--n", "3", "--eval", "1"}, exitFailed, dir, "--eval 2`", "choose another folder")
	checkRun(t, nil, []string{"data", "listops", dir, "--n", "0"}, exitUsage, "--n 0")
	ok(t, "data", "pathfinder", dir, "--n", "10")
	out := filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "pathfinder", "--data", dir, "--out", out}, small...)...)
	checkRun(t, nil, []string{"data", "pathfinder", dir, "--n", "11"}, exitFailed, "pathfinder32", "--n 10", "choose another folder")
	checkRun(t, nil, []string{"data", "pathfinder", dir, "--n", "0"}, exitUsage, "--n 0")
	checkRun(t, nil, []string{"train", "pathx256", "--data", dir, "--out", out + "2"}, exitBadInput, "pathfinder256", "lra_release.gz", "data pathfinder")
}

// An interrupt stops data listops, and every file in the folder is complete.
func TestDataListOpsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	code, stderr := interrupted(t, "wrote ", "data", "listops", dir, "--n", "3", "--eval", "2")
	must.Equal(t, code, 128+int(syscall.SIGINT), "exit code")
	files := must.Get(filepath.Glob(filepath.Join(dir, "basic_*")))(t)
	if len(files) != 1 {
		t.Fatalf("files %q, expected the one before the interrupt", files)
	}
	contains(t, "stderr", stderr, "wrote "+files[0])
	equal(t, "files that stderr reports", strings.Count(stderr, "wrote "), 1)
}

// Wrong arguments of the commands that generate sounds are errors. data noises writes what audio
// reads.
func TestDataSounds(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"--minutes NaN":              {"noises", "--minutes", "NaN"},
		"--minutes 0":                {"sentences", "--text", dir, "--minutes", "0"},
		"--clips 0":                  {"speak", "--words", "yes", "--clips", "0"},
		`--words "../x"`:             {"speak", "--words", "yes,../x"},
		`--words "naïve"`:            {"speak", "--words", "naïve"},
		`--split must be one of "tr`: {"speak", "--words", "yes", "--split", "both"},
	} {
		checkRun(t, nil, append(append([]string{"data"}, args...), dir), exitUsage, want)
	}
	ok(t, "data", "noises", dir, "--minutes", "0.5")
	x := must.Get(audio.ReadMono(filepath.Join(dir, "noise", "0.wav"), 16000))(t)
	equal(t, "samples", len(x), 30*16000)
}
