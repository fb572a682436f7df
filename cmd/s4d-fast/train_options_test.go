package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/option"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/train"
)

// Options of tasks are flags of train, in a group per list of tasks that have them.
func TestOptionFlags(t *testing.T) {
	help := ok(t, "train", "--help")
	for _, o := range option.Fields(new(taskFlags)) {
		if !strings.Contains(help, " --"+flagName(o)) && o.Tag.Get("help") != "" {
			t.Errorf("--%s is missing in the help", flagName(o))
		}
	}
	for group, flags := range map[string][]string{
		"Options of task audio:": {"--skip-broken"}, "Options of tasks audio and digits:": {"--words", "--other=DIR,...", "--background"},
		"Options of tasks audio and series:": {"--validation"}, "Options of task series:": {"--mode", "--horizon"},
	} {
		_, part, found := strings.Cut(help, "\n"+group+"\n")
		must.Equal(t, found, true, "group %q in the help", group)
		part, _, _ = strings.Cut(part, "\n\n")
		contains(t, group, part, flags...)
	}
}

// The flags that tell how a table is written are one option of the configuration.
func TestDialect(t *testing.T) {
	t.Chdir(t.TempDir())
	testfiles.Write(t, "a.csv", "t:x\n1:n/v\n"+strings.Repeat("2:1,5\n3:2,5\n", 20))
	ok(t, "train", "series", "--data", "a.csv", "--separator", ":", "--decimal=,", "--missing-values", "n/v,99", "--horizon", "1", "--missing", "previous", "--out", "run",
		"--set", `data.dialect=["separator=;"]`, "--set", "train.max_steps=1", "--set", "model.d_model=4", "--set", "model.n_layers=1")
	cfg := must.Get(train.LoadRun("run"))(t)
	must.Equal(t, fmt.Sprint(cfg.Data["dialect"]), "[separator=; separator=: decimal=, missing-values=n/v missing-values=99]", "data.dialect")
	checkRun(t, nil, []string{"train", "series", "--data", "a.csv", "--set", `data.dialect=["comma"]`}, exitUsage, `dialect "comma": expected separator, decimal`)
	checkRun(t, nil, []string{"train", "series", "--data", "a.csv", "--decimal=x"}, exitUsage, `--decimal "x": expected`)
	checkRun(t, nil, []string{"train", "series", "--data", "a.csv", "--time-format=foo"}, exitUsage, `--time-format "foo": expected`)
}

// The flags of a task set its options, and lists of folders become absolute.
func TestSetOptions(t *testing.T) {
	dir := t.TempDir()
	for _, word := range []string{"high", "low"} {
		for i := range 12 {
			testfiles.Ramp(t, filepath.Join(dir, "words", word, strings.Repeat("x", i+1)+".wav"), 8000, 900, i)
		}
	}
	testfiles.Ramp(t, filepath.Join(dir, "other", "a.wav"), 8000, 900, 5)
	t.Chdir(dir)
	ok(t, "train", "audio", "--data", "words", "--set", "data.rate=8000", "--skip-broken", "--other", "other,other", "--validation", "0.25", "--out", "run",
		"--set", "train.max_steps=1", "--set", "data.streams=2", "--set", "train.batch=1", "--set", "model.d_model=4", "--set", "model.n_layers=1")
	cfg := must.Get(train.LoadRun("run"))(t)
	must.Equal(t, cfg.Data["rate"], any(int64(8000)), "data.rate")
	must.Equal(t, cfg.Data["skip_broken"], any(true), "data.skip_broken")
	must.Equal(t, cfg.Data["validation"], any(0.25), "data.validation")
	if other := cfg.Data["other"].([]any); len(other) != 2 || other[1] != must.Get(filepath.Abs("other"))(t) {
		t.Errorf("data.other %v, expected two absolute paths", other)
	}
	for _, c := range []struct{ task, flag, value, want string }{
		{"audio", "--validation", "many", "--validation"},
		{"audio", "--validation", "-1", "data.validation -1"},
		{"audio", "--separator", ";", `--separator: task "audio" does not have this option`},
		{"fsdd", "--time", "x", `--time: task "fsdd" does not have this option`},
	} {
		checkRun(t, nil, []string{"train", c.task, "--data", "words", c.flag + "=" + c.value, "--out", "new"}, exitUsage, c.want)
	}
}

// A run requires a validation set. The libraries take 0 for the default, so the command rejects it.
func TestNoValidation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	testfiles.Write(t, path, "x\n1\n2\n3\n")
	for _, flags := range [][]string{{"--validation", "0"}, {"--set", "data.validation=0"}, {"--set", "data.validation=0.0"}} {
		args := append([]string{"train", "series", "--data", path, "--horizon", "1"}, flags...)
		checkRun(t, nil, args, exitUsage, "--validation 0 (data.validation): training requires a validation set")
	}
}

// A flag with the name of a key is an error that says how to set the key.
func TestKeysAsFlags(t *testing.T) {
	for flag, key := range map[string]string{"epochs": "train.epochs", "lr": "optim.lr", "batch": "train.batch", "weight-decay": "optim.weight_decay"} {
		checkRun(t, nil, []string{"train", "delay", "--" + flag, "3"}, exitUsage, "--set "+key+"=VALUE")
		checkRun(t, nil, []string{"sweep", "delay", "--" + flag + "=3"}, exitUsage, "--set "+key+"=VALUE")
	}
	checkRun(t, nil, []string{"train", "--nonsense"}, exitUsage, "unknown flag --nonsense")
}
