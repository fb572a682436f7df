package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// plot all draws what has input, and lists the flags that the others require. Names of folders may
// contain commas, as those of a sweep's runs do.
func TestPlotAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	delay, dirs := delayRunDir(t, "ssm.init=dfout,seed=1"), sweepOf(t)
	code, _, stderr := invoke(nil, "plot", "all", "--out", dir, "--model", digitsModel(t), "--delay", delay, "--delay", delay, "--sweep", dirs,
		"--task", "fsdd", "--data", tones(t))
	names := []string{"poles", "response", "learned", "kernels", "hinf", "delay", "sweep", "spectrum"}
	if code != exitOK {
		t.Errorf("exit code %d, expected %d: %s", code, exitOK, stderr)
	}
	if strings.Contains(stderr, "skipped") {
		t.Errorf("a plot was skipped, expected none: %s", stderr)
	}
	if n := strings.Count(stderr, "wrote "); n != len(names) {
		t.Errorf("%d files written, expected %d: %s", n, len(names), stderr)
	}
	for _, name := range names {
		mustBePNG(t, filepath.Join(dir, name+".png"), 0, 0)
		if !strings.Contains(stderr, "wrote "+filepath.Join(dir, name+".png")+"\n") {
			t.Errorf("%s is not reported: %s", name, stderr)
		}
	}

	bare := t.TempDir()
	pinned := saved(t, func(c *model.Config) { c.SSM.AReal = 0 })
	_, _, stderr = invoke(nil, "plot", "all", "--out", bare, "--format", "svg", "--task", "smnist", "--model", pinned)
	for name, why := range map[string]string{"hinf": "no SSM has a bounded response", "delay": "it requires --delay", "sweep": "it requires --sweep", "spectrum": "it requires --data"} {
		path := filepath.Join(bare, name+".svg")
		if !strings.Contains(stderr, "skipped "+path+": ") || !strings.Contains(stderr, why) {
			t.Errorf("%s is not reported as skipped (%s): %s", name, why, stderr)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	for _, name := range []string{"poles", "response", "learned", "kernels"} {
		svgTexts(t, filepath.Join(bare, name+".svg"))
	}
	checkRun(t, nil, []string{"plot", "all"}, exitUsage, "--out")
	checkRun(t, nil, []string{"plot", "all", "--out", bare, "--format", "gif"}, exitUsage, "gif")
	nothing := filepath.Join(t.TempDir(), "nothing")
	words := sweepDir(t, "words", "ssm.init"+sweepHead, "lin,1"+result("0.5"))
	for flag, bad := range map[string]string{"--model": "nowhere.safetensors", "--delay": "nowhere", "--sweep": words, "--data": "nowhere"} {
		checkRun(t, nil, []string{"plot", "all", "--out", nothing, flag, bad}, exitBadInput, bad)
	}
	if _, err := os.Stat(nothing); err == nil {
		t.Error("plots were drawn before all input was read")
	}
	checkRun(t, nil, []string{"plot", "all", "--out", write(t, "file", nil)}, exitFailed, "file")
	checkRun(t, nil, []string{"plot", "all", "--out", bare, "--task", "juggling"}, exitUsage, "juggling")
}

// plot all draws each plot as its command does without further flags.
func TestPlotAllDefaults(t *testing.T) {
	all := plotAllCmd{Model: "digits", Delay: []string{"a,b"}, Sweep: []string{"c"}, Task: "fsdd", Data: "d"}
	args := map[string][]string{"learned": {"poles", "digits"}, "kernels": {"kernels", "digits"}, "hinf": {"hinf", "digits"},
		"delay": {"delay", "a"}, "sweep": {"sweep", "c"}, "spectrum": {"spectrum", "fsdd"}, "poles": {"poles"}, "response": {"response"}}
	for _, p := range all.plots() {
		var c plotCmd
		parser := must.Get(kong.New(&c, variables()))(t)
		parsed := must.Get(parser.Parse(append(args[p.name], "--out", "x.png")))(t)
		want, got := parsed.Selected().Target.Addr().Interface(), p.command("x.png")
		for _, name := range []string{"Runs", "Dirs", "Data", "Out"} { // of the input, and absolute paths
			for _, v := range []any{want, got} {
				if field := reflect.ValueOf(v).Elem().FieldByName(name); field.IsValid() {
					field.SetZero()
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: plot all has %+v, its command %+v", p.name, got, want)
		}
	}
}

// pictures makes six colour images of CIFAR's size in two classes.
func pictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 6 {
		img := image.NewRGBA(image.Rect(0, 0, 32, 32))
		for at := range img.Pix {
			img.Pix[at] = byte(at * (i + 3))
		}
		class := filepath.Join(dir, "train", []string{"cat", "dog"}[i%2])
		must.Do(t, os.MkdirAll(class, 0o777))
		f := must.Get(os.Create(filepath.Join(class, fmt.Sprint(i, ".png"))))(t)
		must.Do(t, png.Encode(f, img))
		must.Do(t, f.Close())
	}
	return dir
}
