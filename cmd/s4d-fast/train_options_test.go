package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// giveOptions sets flags as kong does; args are names and values.
func giveOptions(t *testing.T, plugins kong.Plugins, args []string) {
	t.Helper()
	values := reflect.ValueOf(plugins[0]).Elem()
	for i := 0; i < len(args); i += 2 {
		f := values.Field(slices.Index(optionNames(), args[i]))
		if f.Kind() == reflect.Bool {
			f.SetBool(true)
		} else {
			f.Set(reflect.ValueOf(&args[i+1]))
		}
	}
}

// Options of tasks are flags of train. A flag sets the option of the task that is trained.
func TestOptionFlags(t *testing.T) {
	help := ok(t, "train", "--help")
	contains(t, "help", help, "--skip-broken", "--group-by=REGEXP", "--other=DIR,…")
	for _, name := range optionNames() {
		if strings.Count(help, "--"+name) < 1 {
			t.Errorf("--%s is missing in the help", name)
		}
	}
	for group, flags := range map[string][]string{
		"Options of task audio:": {"--rate", "--group-by", "--skip-broken"}, "Options of tasks audio and digits:": {"--words", "--other", "--background"},
		"Options of tasks audio and series:": {"--validation"}, "Options of task series:": {"--mode", "--horizon"},
	} {
		_, part, found := strings.Cut(help, "\n"+group+"\n")
		must.Equal(t, found, true, "group %q in the help", group)
		part, _, _ = strings.Cut(part, "\n\n")
		contains(t, group, part, flags...)
	}
	oneLine := strings.Join(strings.Fields(help), " ")
	contains(t, "help", oneLine, "audio: Fraction of the speakers or files", "series: Fraction of the data", "train audio --data", "train series --data")

	set := func(name string, args ...string) (train.Config, error) {
		t.Helper()
		tk := must.Get(task.Lookup(name))(t)
		cfg := tk.Preset()
		plugins := optionFlags()
		giveOptions(t, plugins, args)
		return cfg, setOptions(&cfg, plugins, tk)
	}
	cfg := must.Get(set("audio", "rate", "8000", "skip-broken", "true", "other", "a, b"))(t)
	must.Equal(t, cfg.Data["rate"], any(int64(8000)), "data.rate")
	must.Equal(t, cfg.Data["skip_broken"], any(true), "data.skip_broken")
	other, _ := cfg.Data["other"].([]any)
	if len(other) != 2 || other[1] != must.Get(filepath.Abs("b"))(t) {
		t.Errorf("data.other %v, expected the absolute paths of a and b", cfg.Data["other"])
	}
	must.Reject(set("audio", "rate", "many"))(t, train.ErrConfig, "--rate", "many")
	must.Reject(set("fsdd", "group-by", "x"))(t, `--group-by: task "fsdd" does not have this option`)
	must.Do(t, setOptions(&cfg, nil, nil))

	out := filepath.Join(t.TempDir(), "run")
	checkRun(t, nil, []string{"train", "fsdd", "--data", out, "--skip-broken"}, exitUsage, `--skip-broken: task "fsdd" does not have this option`)
	checkRun(t, nil, []string{"train", "audio", "--data", out, "--rate=-1", "--out", out}, exitUsage, "data.rate -1")
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
