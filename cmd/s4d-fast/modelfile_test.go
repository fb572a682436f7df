package main

import (
	"os"
	"path/filepath"
	"testing"
)

// An argument that is no model is called what it is, with what was probably meant.
func TestNotAModel(t *testing.T) {
	folder, run := t.TempDir(), t.TempDir()
	best := filepath.Join(run, "best.safetensors")
	if err := os.WriteFile(best, read(t, digitsModel(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	readme := filepath.Join("..", "..", "README.md")
	for _, command := range []string{"eval", "inspect"} {
		mustSay(t, nil, []string{command, readme}, exitBadInput, readme+" is not a model file (.safetensors)")
		mustSay(t, nil, []string{command, "digitz"}, exitBadInput, "digitz", "not a built-in model (digits)", `did you mean "digits"?`)
		mustSay(t, nil, []string{command, run}, exitBadInput, run+" is a run folder; its model is "+best)
		mustSay(t, nil, []string{command, folder}, exitBadInput, folder+" is a folder, expected a model file (.safetensors)")
		mustSay(t, nil, []string{command, filepath.Join(folder, "gone.safetensors")}, exitBadInput, "gone.safetensors", "no such file")
	}
}

// A task that is misspelled, missing, or at odds with --data is an error that shows what to write.
func TestTaskAndData(t *testing.T) {
	dir, m := t.TempDir(), digitsModel(t)
	mustSay(t, nil, []string{"train", "dealy"}, exitUsage, `"dealy"`, `did you mean "delay"?`)
	mustSay(t, nil, []string{"eval", m, "--task", "fsd", "--data", dir}, exitUsage, `"fsd"`, `did you mean "fsdd"?`)
	mustSay(t, nil, []string{"train", "--data", dir}, exitUsage, "data "+dir, "s4d-fast train TASK --data "+dir, "fsdd")
	config := write(t, "c.toml", []byte("[data]\ndir = \"sounds\"\n"))
	mustSay(t, nil, []string{"train", "--config", config}, exitUsage, "s4d-fast train TASK --data sounds")
	mustSay(t, nil, []string{"train", "delay", "--data", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	mustSay(t, nil, []string{"sweep", "delay", "--data", dir, "--out", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	mustSay(t, nil, []string{"eval", m, "--task", "delay", "--data", dir}, exitUsage, "--data "+dir, `"delay" generates its own data`)
	mustSay(t, nil, []string{"train", "fsdd"}, exitUsage, `"fsdd" requires --data`)
}

// A split without examples is an error that names the others.
func TestEvalMissingSplit(t *testing.T) {
	data := tones(t) // without recordings 0–4, FSDD's test split
	mustSay(t, nil, []string{"eval", digitsModel(t), "--data", data, "--split", "test"}, exitBadInput, "test examples", "--split: train, val, test or all")
}
