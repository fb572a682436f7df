package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// data listops writes what train listops reads.
func TestDataListOps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", "--out", dir, "--n", "3", "--eval", "2")
	d, err := dataset.Load("listops", dataset.Options{Dir: dir})
	if err != nil || d.Train.Len() != 3 || d.Val.Len() != 2 || d.Test.Len() != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	mustSay(t, nil, []string{"data", "listops", "--out", dir, "--n", "3", "--eval", "2", "--seed", "2"}, exitUsage, dir, "--seed 1`", "choose another folder")
	if code, _, stderr := invoke(nil, "data", "listops", "--out", dir, "--n", "0"); code != exitUsage || !strings.Contains(stderr, "--n 0") {
		t.Errorf("no expressions: exit code %d, %s", code, stderr)
	}
}

// data pathfinder writes what train pathfinder reads, and so for Path-X.
func TestDataPathfinder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "pathfinder", "--out", dir, "--n", "10")
	ok(t, "data", "pathfinder", "--out", dir, "--n", "10", "--size", "128", "--seed", "7")
	for task, length := range map[string]int{"pathfinder": 1024, "pathx128": 16384} {
		d, err := dataset.Load(task, dataset.Options{Dir: dir})
		if err != nil || d.Train.Len() != 8 || d.Val.Len() != 1 || d.Test.Len() != 1 || d.MaxLen != length {
			t.Errorf("%+v, %v", d, err)
		}
	}
	out := filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "pathfinder", "--data", dir, "--out", out}, small...)...)
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--n", "11"}, exitUsage, "pathfinder32", "--n 10", "choose another folder")
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--n", "0"}, exitUsage, "--n 0")
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--size", "64"}, exitUsage, "64")
	mustSay(t, nil, []string{"train", "pathx256", "--data", dir, "--out", out + "2"}, exitBadInput, "pathfinder256", "lra_release.gz", "data pathfinder")
}

// An interrupt stops data listops, and every file in the folder is complete.
func TestDataListOpsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	code, stderr := interrupted(t, "wrote ", "data", "listops", "--out", dir, "--n", "3", "--eval", "2")
	if code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d, expected %d", code, 128+int(syscall.SIGINT))
	}
	files, err := filepath.Glob(filepath.Join(dir, "basic_*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || strings.Count(stderr, "wrote ") != 1 || !strings.Contains(stderr, files[0]) {
		t.Errorf("files %q after stderr %q", files, stderr)
	}
}
