package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The error about an argument that is not a model states what it is and what was probably meant.
func TestNotAModel(t *testing.T) {
	folder, run := t.TempDir(), t.TempDir()
	best := filepath.Join(run, "best.safetensors")
	must.Do(t, os.WriteFile(best, read(t, digitsModel(t)), 0o644))
	readme := filepath.Join("..", "..", "README.md")
	for _, command := range []string{"eval", "inspect"} {
		checkRun(t, nil, []string{command, readme}, exitBadInput, readme+" is not a model file (.safetensors)")
		checkRun(t, nil, []string{command, "digitz"}, exitBadInput, "digitz", "not a built-in model (commands, digits, wake)", `did you mean "digits"?`)
		checkRun(t, nil, []string{command, run}, exitBadInput, run+" is a run folder; its model is "+best)
		checkRun(t, nil, []string{command, folder}, exitBadInput, folder+" is a folder, expected a model file (.safetensors)")
		checkRun(t, nil, []string{command, filepath.Join(folder, "gone.safetensors")}, exitBadInput, "gone.safetensors", "no such file")
	}
}

// A task that is misspelled, missing or does not read --data is an error that shows what to write.
func TestTaskAndData(t *testing.T) {
	dir, m := t.TempDir(), digitsModel(t)
	checkRun(t, nil, []string{"train", "dealy"}, exitUsage, `"dealy"`, `did you mean "delay"?`)
	checkRun(t, nil, []string{"eval", m, "--task", "fsd", "--data", dir}, exitUsage, `"fsd"`, `did you mean "fsdd"?`)
	checkRun(t, nil, []string{"train", "--data", dir}, exitUsage, "data "+dir, "s4d-fast train TASK --data "+dir, "fsdd")
	config := write(t, "c.toml", []byte("[data]\ndir = \"sounds\"\n"))
	checkRun(t, nil, []string{"train", "--config", config}, exitUsage, "s4d-fast train TASK --data sounds")
	checkRun(t, nil, []string{"train", "delay", "--data", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	checkRun(t, nil, []string{"sweep", "delay", "--data", dir, "--out", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	checkRun(t, nil, []string{"eval", m, "--task", "delay", "--data", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	checkRun(t, nil, []string{"train", "fsdd"}, exitUsage, `"fsdd" requires --data`)
}

// A split without examples is an error that names the others.
func TestEvalMissingSplit(t *testing.T) {
	data := tones(t) // without recordings 0–4, FSDD's test split
	checkRun(t, nil, []string{"eval", digitsModel(t), "--data", data, "--split", "test"}, exitBadInput, "test examples", "--split: train, val, test or all")
}
