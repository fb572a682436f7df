package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/bench"
	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/report"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/wav"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ok runs a command line that must succeed and returns its stdout.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := invoke(nil, args...)
	if code != exitOK {
		t.Fatalf("s4d-fast %s: exit code %d, stderr %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// tones makes a data set in FSDD's layout: three digits, each a tone of its own pitch, of varying lengths.
func tones(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for digit := range 3 {
		for index := 5; index < 14; index++ {
			samples := make([]float32, 300+37*index+11*digit)
			for i := range samples {
				samples[i] = 0.3 * float32(math.Sin(float64(i*(digit+1))*0.2+float64(index)))
			}
			name := fmt.Sprintf("%d_tone_%d.wav", digit, index)
			if err := wav.WriteFile(filepath.Join(dir, name), 8000, samples); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// small are settings for a run of a second.
var small = []string{
	"--set", "model.d_model=6", "--set", "model.n_layers=2", "--set", "ssm.d_state=8", "--set", "train.epochs=2", "--set", "train.batch=4",
}

// A model that train leaves gives eval's figures again, and stream's last posterior is eval's.
func TestTrainEvalStream(t *testing.T) {
	data, out := tones(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", out}, small...)...)
	best := filepath.Join(out, "best.safetensors")
	predictions := filepath.Join(t.TempDir(), "predictions.jsonl")
	var e evaluation
	decode(t, ok(t, "eval", best, "--task", "fsdd", "--data", data, "--json", "--predictions", predictions), &e)
	if e.Task != "fsdd" || e.Split != "val" || e.N != 15 || e.Accuracy == nil {
		t.Fatalf("evaluation %+v", e)
	}
	if want := bestAccuracy(t, filepath.Join(out, "metrics.jsonl")); *e.Accuracy != want {
		t.Errorf("eval's accuracy is %v, the best epoch's was %v", *e.Accuracy, want)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(read(t, predictions))), "\n") {
		var p predictionLine
		decode(t, line, &p)
		want := model.Posterior(p.Logits)
		code, stdout, stderr := invoke(bytes.NewReader(read(t, p.Path)), "stream", best, "--format", "wav", "--emit", "frames", "-")
		if code != exitOK {
			t.Fatalf("stream: exit code %d: %s", code, stderr)
		}
		last := lastFrame(t, stdout)
		for i, v := range last.Posterior {
			if math.Abs(float64(v-want[i])) > 1e-4 {
				t.Errorf("%s: last posterior %v, eval's %v", p.Path, last.Posterior, want)
				break
			}
		}
		if last.Label != p.Prediction {
			t.Errorf("%s: stream hears %q, eval %q", p.Path, last.Label, p.Prediction)
		}
	}
}

func bestAccuracy(t *testing.T, path string) float64 {
	t.Helper()
	best := -1.0
	for _, line := range strings.Split(strings.TrimSpace(string(read(t, path))), "\n") {
		var m struct {
			Accuracy float64 `json:"val_accuracy"`
		}
		decode(t, line, &m)
		best = max(best, m.Accuracy)
	}
	return best
}

func decode(t *testing.T, line string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), v); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

// lastFrame checks the lines' kinds and returns the last frame.
func lastFrame(t *testing.T, stdout string) report.Frame {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var start report.Start
	var end report.End
	var frame report.Frame
	decode(t, lines[0], &start)
	decode(t, lines[len(lines)-1], &end)
	decode(t, lines[len(lines)-2], &frame)
	if start.Type != "start" || start.Rate != 8000 || end.Type != "end" || frame.Type != "frame" || frame.Sample != end.Samples {
		t.Fatalf("lines of a stream: %q", lines)
	}
	return frame
}

// However a stream's input is cut, and whatever form it comes in, the frames are the same.
func TestStreamForms(t *testing.T) {
	m, audio := digitsModel(t), clip(t, 8000, 2500)
	samples, _, err := wav.ReadFile(audio)
	if err != nil {
		t.Fatal(err)
	}
	want := posteriors(t, ok(t, "stream", m, audio, "--emit", "frames"))
	if len(want) != 4 { // at 800, 1600, 2400 and 2500 samples
		t.Fatalf("%d frames, want 4", len(want))
	}
	var raw bytes.Buffer
	for _, v := range samples {
		s := int16(v * 32768)
		raw.Write([]byte{byte(s), byte(s >> 8)})
	}
	code, stdout, stderr := invoke(&raw, "stream", m, "--format", "s16le", "--rate", "8000", "--emit", "frames")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := posteriors(t, stdout); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("raw samples give %v, the WAV file %v", got, want)
	}
}

func posteriors(t *testing.T, stdout string) (list [][]float32) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var f report.Frame
		decode(t, line, &f)
		if f.Type == "frame" {
			list = append(list, f.Posterior)
		}
	}
	return list
}

func TestDelayLeavesPicture(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	stdout := ok(t, "train", "--out", out, "--set", "data.length=200", "--set", "data.delay=50", "--set", "ssm.d_state=16",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=1", "--set", "train.batch=16")
	if png := read(t, filepath.Join(out, "delay.png")); !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Error("delay.png is no picture")
	}
	if !strings.Contains(stdout, "delay.png") || !strings.Contains(stdout, "best.safetensors") {
		t.Errorf("stdout %q names neither model nor picture", stdout)
	}
	mustSay(t, nil, []string{"train", "--out", out}, exitUsage, out, "already holds a run")
	var e evaluation
	decode(t, ok(t, "eval", filepath.Join(out, "best.safetensors"), "--json", "--set", "data.length=200", "--set", "data.delay=50", "--set", "data.eval_size=8"), &e)
	if e.RMSE == nil || e.N != 8 {
		t.Errorf("evaluation %+v", e)
	}
}

func TestDivergenceExitCode(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	mustSay(t, nil, []string{"train", "--out", out, "--set", "data.length=64", "--set", "data.delay=16", "--set", "ssm.d_state=8",
		"--set", "data.train_size=256", "--set", "data.eval_size=8", "--set", "optim.lr=1e30"}, exitDiverged, "diverged")
}

// An interrupt stops at a step, saves, tells how to go on, and ends with 130; the run can be resumed.
func TestInterruptAndResume(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	line := []string{"train", "--out", out, "--set", "data.length=64", "--set", "data.delay=16", "--set", "ssm.d_state=8",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=1000000"}
	type result struct {
		code   int
		stderr string
	}
	done := make(chan result)
	go func() {
		code, _, stderr := invoke(nil, line...)
		done <- result{code, stderr}
	}()
	waitFor(t, filepath.Join(out, "metrics.jsonl"))
	if err := interruptSelf(); err != nil {
		t.Skipf("this system has no interrupt to send: %v", err)
	}
	r := <-done
	if r.code != 128+int(syscall.SIGINT) || !strings.Contains(r.stderr, "--resume") {
		t.Fatalf("exit code %d, stderr %s", r.code, r.stderr)
	}
	epochs := strings.Count(string(read(t, filepath.Join(out, "metrics.jsonl"))), "\n")
	ok(t, "train", "--out", out, "--resume", "--set", fmt.Sprintf("train.epochs=%d", epochs+2))
	if got := strings.Count(string(read(t, filepath.Join(out, "metrics.jsonl"))), "\n"); got != epochs+2 {
		t.Errorf("%d epochs after the resumed run, want %d", got, epochs+2)
	}
}

// waitFor returns when a file has something in it.
func waitFor(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not come", path)
}

func interruptSelf() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return p.Signal(os.Interrupt)
}

func TestConvertInspect(t *testing.T) {
	pth := golden.LoadTiny(t, "postnorm").WritePth(t)
	out := filepath.Join(t.TempDir(), "tiny.safetensors")
	ok(t, "convert", pth, out, "--mean", "0,1", "--std", "1,2", "--labels", "a,b,c,d,e")
	var info inspection
	decode(t, ok(t, "inspect", out, "--json"), &info)
	if info.Scores != nil {
		t.Error("inspect prints scores that nobody asked for")
	}
	if info.Parameters != 933 || len(info.Poles) != 2 || info.Meta.Labels[4] != "e" || info.Poles[0].Modulus[1] > 1 {
		t.Errorf("inspection %+v", info)
	}
	text := ok(t, "inspect", out)
	for _, part := range []string{"933", "d_state 16", "a b c d e", "poles 1", "layers.1.mix.weight", "mean 1, standard deviation 2"} {
		if !strings.Contains(text, part) {
			t.Errorf("inspect does not say %q:\n%s", part, text)
		}
	}
	mustSay(t, nil, []string{"convert", pth, out, "--mean", "0", "--std", "1"}, exitUsage, "2 input channels")
	mustSay(t, nil, []string{"convert", pth, out, "--labels", "a"}, exitUsage, "5 outputs")
}

func TestVersion(t *testing.T) {
	if got := strings.TrimSpace(ok(t, "version", "--levels")); !strings.HasPrefix(got, "generic") {
		t.Errorf("levels %q", got)
	}
	text := ok(t, "version")
	for _, want := range []string{"processor  ", "caches     ", "level      " + string(vek.CurrentLevel()) + " (available: generic"} {
		if !strings.Contains(text, want) {
			t.Errorf("version without %q:\n%s", want, text)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, command := range []string{"train", "eval", "stream", "convert", "inspect", "bench"} {
		if got := ok(t, command, "--help"); !strings.Contains(got, "Example") || !strings.Contains(got, "s4d-fast "+command) {
			t.Errorf("%s --help shows no example: %q", command, got)
		}
	}
}

// Evaluation meets the data as training did: at the model's rate, and with a run's own configuration.
func TestEvalRepeatsTheRun(t *testing.T) {
	data, out := tones(t), filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "fsdd", "--data", data, "--out", out, "--set", "data.decimate=2"}, small...)...)
	best := filepath.Join(out, "best.safetensors")
	var e evaluation
	decode(t, ok(t, "eval", best, "--data", data, "--json"), &e)
	if e.Rate != 4000 || *e.Accuracy != bestAccuracy(t, filepath.Join(out, "metrics.jsonl")) {
		t.Errorf("a model of 4000 Hz is evaluated at %v Hz: accuracy %v", e.Rate, *e.Accuracy)
	}
	decode(t, ok(t, "eval", best, "--data", data, "--json", "--rate", "2000"), &e)
	if e.Rate != 2000 {
		t.Errorf("--rate 2000 evaluates at %v Hz", e.Rate)
	}
	mustSay(t, nil, []string{"eval", best, "--data", data, "--rate", "3000"}, exitUsage, "3000", "8000")

	delay := filepath.Join(t.TempDir(), "delay")
	ok(t, "train", "--out", delay, "--seed", "7", "--set", "data.length=64", "--set", "data.delay=16", "--set", "ssm.d_state=8",
		"--set", "data.train_size=64", "--set", "data.eval_size=8", "--set", "train.epochs=1")
	var m struct {
		Loss float64 `json:"val_loss"`
	}
	decode(t, strings.TrimSpace(string(read(t, filepath.Join(delay, "metrics.jsonl")))), &m)
	decode(t, ok(t, "eval", filepath.Join(delay, "best.safetensors"), "--config", filepath.Join(delay, "config.toml"), "--json"), &e)
	if e.Loss != m.Loss {
		t.Errorf("eval's loss is %v, the run's %v", e.Loss, m.Loss)
	}
}

// bench prints a row an operation, size, level and number of threads, in both forms.
func TestBench(t *testing.T) {
	t.Setenv("S4D_LEVEL", "")
	levels := vek.Levels()
	args := []string{"bench", "--op", "peak,cexp", "--threads", "1,2", "--time", "1ms"}
	lines := strings.Split(strings.TrimSpace(ok(t, append(args, "--json")...)), "\n")
	if want := 2 * 2 * len(levels); len(lines) != want {
		t.Fatalf("%d lines, want %d", len(lines), want)
	}
	for i, line := range lines {
		var r bench.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Level != string(levels[i%len(levels)]) || !(r.NS > 0) {
			t.Errorf("line %d, error %v: %s", i, err, line)
		}
	}
	table := ok(t, "bench", "--op", "copy", "--level", "generic,generic", "--time", "1ms")
	if strings.Count(table, "GB/s") != 2*3 || strings.Count(table, "generic") != 2*3 {
		t.Errorf("table of two levels:\n%s", table)
	}
	before := vek.CurrentLevel()
	t.Setenv("S4D_LEVEL", "generic") // as if the process had started with it
	if err := vek.SetLevel(vek.Generic); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = vek.SetLevel(before) }() // it was in use
	if lines := ok(t, "bench", "--op", "copy", "--time", "1ms", "--json"); strings.Count(lines, `"generic"`) != 3 || strings.Count(lines, "\n") != 3 {
		t.Errorf("rows under S4D_LEVEL=generic:\n%s", lines)
	}
	for flag, value := range map[string]string{"--op": "divide", "--level": "abacus", "--threads": "0", "--time": "-1s"} {
		if code, _, stderr := invoke(nil, "bench", flag+"="+value); code != exitUsage || !strings.Contains(stderr, value) {
			t.Errorf("bench %s %s: exit code %d, stderr %s", flag, value, code, stderr)
		}
	}
	for _, flag := range []string{"--op=", "--threads=", "--time=0s"} {
		if code, stdout, stderr := invoke(nil, "bench", flag); code != exitUsage || stdout != "" || !strings.Contains(stderr, "bench: ") {
			t.Errorf("bench %s: exit code %d, stdout %s, stderr %s", flag, code, stdout, stderr)
		}
	}
}

// plot draws initialisations and models, and refuses what it cannot draw.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"poles.png":   {"poles", "--init", "lin,dfout-half", "--step", "0.1"},
		"learned.svg": {"poles", digitsModel(t)},
	} {
		path := filepath.Join(dir, name)
		ok(t, append(append([]string{"plot"}, args...), "--out", path)...)
		if info, err := os.Stat(path); err != nil || info.Size() < 5000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for want, args := range map[string][]string{
		`init "circle"`: {"poles", "--init", "circle"}, "100000000 modes": {"poles", "--modes", "100000000"}, "70000 SSMs": {"poles", "--channels", "70000", "--modes", "2"}, "dt_min -1": {"response", "--step=-1"}, ".png or .svg": {"poles", "--out", filepath.Join(dir, "x.jpg")},
	} {
		if code, _, stderr := invoke(nil, append([]string{"plot"}, args...)...); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("plot %v: exit code %d, stderr %s", args, code, stderr)
		}
	}
}

// The scores of inspect are those of package ssm; the largest gain of a layer is unbounded where one SSM's is.
func TestInspectScores(t *testing.T) {
	path := saved(t, func(c *model.Config) { c.SSM.Init, c.SSM.Bidirectional = ssm.Lin, true })
	m, err := model.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	m.Weights.Layers[1].LogDecay[5] = float32(math.Inf(-1)) // a mode of channel 1
	mixed := filepath.Join(t.TempDir(), "mixed.safetensors")
	if err := m.Save(mixed); err != nil {
		t.Fatal(err)
	}
	var info inspection
	decode(t, ok(t, "inspect", mixed, "--scores", "--json"), &info)
	if len(info.Scores) != 2 || info.Poles[0].HInf == nil || info.Poles[0].Unbounded != 0 || info.Poles[1].HInf != nil || info.Poles[1].HInfAngle != nil || info.Poles[1].Unbounded != 1 {
		t.Fatalf("poles %+v, scores %+v", info.Poles, info.Scores)
	}
	for i, layer := range info.Scores {
		d := m.SSMParams(i).Discretize(ssm.ZOH, 1)
		whole, modes, last := d.SSMScores(), d.ModeScores(), d.LAST()
		for h, one := range layer.SSMs {
			if unbounded := i == 1 && h == 1; (one.HInf == nil) != unbounded || !unbounded && *one.HInf != whole[h] {
				t.Errorf("layer %d, SSM %d: score %v, want %v", i, h, one.HInf, whole[h])
			}
			for n, mode := range one.Modes {
				at := h*d.M + n
				want := max(modes[at], modes[d.H*d.M+at])
				if (mode.HInf == nil) != math.IsInf(want, 1) || mode.HInf != nil && *mode.HInf != want || mode.LAST != last[at] {
					t.Errorf("layer %d, SSM %d, mode %d: %+v, want %v and %v", i, h, n, mode, want, last[at])
				}
			}
		}
	}
	text := ok(t, "inspect", mixed, "--scores", "--layer", "1")
	for _, part := range []string{"H∞ unbounded (1 of 4 SSMs)", "layer 1\nssm  Δ", "LAST", "unbounded", "modes aliased"} {
		if !strings.Contains(text, part) {
			t.Errorf("inspect --scores does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "layer 0") {
		t.Errorf("--layer 1 prints another layer's scores:\n%s", text)
	}
	if text := ok(t, "inspect", saved(t, func(c *model.Config) { c.SSM.Init = ssm.Token })); !strings.Contains(text, "modes beyond π (mirrored)") {
		t.Errorf("angles on the full circle:\n%s", text)
	}
	mustSay(t, nil, []string{"inspect", mixed, "--layer", "1"}, exitUsage, "--scores")
	mustSay(t, nil, []string{"inspect", mixed, "--scores", "--layer", "2"}, exitUsage, "--layer 2", "0 to 1")
}

// prune writes a model with fewer modes, and says so.
func TestPrune(t *testing.T) {
	from, to := digitsModel(t), filepath.Join(t.TempDir(), "small.safetensors")
	var p pruning
	if err := json.Unmarshal([]byte(ok(t, "prune", from, to, "--keep", "0.5", "--json")), &p); err != nil {
		t.Fatal(err)
	}
	m, err := model.Load(to)
	if err != nil {
		t.Fatal(err)
	}
	if p.Modes[1] != (p.Modes[0]+1)/2 || m.Config.SSM.Modes() != p.Modes[1] || m.Config.CountParams() != p.Parameters[1] || p.Parameters[1] >= p.Parameters[0] {
		t.Errorf("%+v, and a file of %d modes", p, m.Config.SSM.Modes())
	}
	if p.Microsecs == nil || !(p.Microsecs[1] > 0) {
		t.Errorf("stream's times %v", p.Microsecs)
	}
	if text := ok(t, "prune", from, to, "--keep", "1"); !strings.Contains(text, "µs a sample") || !strings.Contains(text, "parameters") {
		t.Errorf("text:\n%s", text)
	}
	for want, args := range map[string][]string{
		"keep 2": {from, to, "--keep", "2"}, "nowhere": {"nowhere.safetensors", to, "--keep", "0.5"}, ".safetensors": {from, "x.bin", "--keep", "0.5"},
		"name another file": {from, from, "--keep", "0.5"}, `task "fsdd" needs --data`: {from, to, "--keep", "0.5", "--task", "fsdd"},
	} {
		if code, _, stderr := invoke(nil, append([]string{"prune"}, args...)...); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("prune %v: exit code %d, stderr %s", args, code, stderr)
		}
	}
}

// prune evaluates on a run's own data: at its length and seed, not the preset's.
func TestPruneEvaluatesOnTheRun(t *testing.T) {
	run := delayRunDir(t, "run", "seed=7")
	best, to := filepath.Join(run, "best.safetensors"), filepath.Join(t.TempDir(), "small.safetensors")
	for _, where := range [][]string{
		{"--config", filepath.Join(run, "config.toml")},
		{"--task", "delay", "--set", "data.length=200", "--set", "data.delay=50", "--set", "data.eval_size=8", "--set", "seed=7"},
	} {
		var e evaluation
		decode(t, ok(t, append([]string{"eval", best, "--json"}, where...)...), &e)
		var p pruning
		decode(t, ok(t, append([]string{"prune", best, to, "--keep", "0.5", "--json"}, where...)...), &p)
		if p.N != 8 || p.RMSE == nil || p.RMSE[0] != *e.RMSE {
			t.Errorf("%v: prune finds %+v, eval %v", where, p, *e.RMSE)
		}
	}
	p := pruning{Microsecs: &[2]float64{0.02345, 0.01849}}
	var text strings.Builder
	if err := p.print(&text); err != nil || !strings.Contains(text.String(), "0.0234 → 0.0185 µs") {
		t.Errorf("%v, %s", err, text.String())
	}
}

// data listops writes what train listops reads.
func TestDataListOps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ok(t, "data", "listops", "--out", dir, "--n", "3", "--eval", "2")
	d, err := dataset.Load("listops", dataset.Options{Dir: dir})
	if err != nil || d.Train.Len() != 3 || d.Val.Len() != 2 || d.Test.Len() != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	mustSay(t, nil, []string{"data", "listops", "--out", dir, "--n", "3", "--eval", "2", "--seed", "2"}, exitUsage, dir, "--seed 1`", "want another folder")
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
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--n", "11"}, exitUsage, "pathfinder32", "--n 10", "want another folder")
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--n", "0"}, exitUsage, "--n 0")
	mustSay(t, nil, []string{"data", "pathfinder", "--out", dir, "--size", "64"}, exitUsage, "64")
	mustSay(t, nil, []string{"train", "pathx256", "--data", dir, "--out", out + "2"}, exitBadInput, "pathfinder256", "lra_release.gz", "data pathfinder")
}

// sweep makes a table and a picture, and started again nothing more.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grid")
	args := []string{"sweep", "delay", "--preset", "step", "--set", "data.length=64", "--set", "data.delay=16", "--set", "data.train_size=64", "--set", "data.eval_size=64", "--set", "ssm.d_state=8",
		"--set", "train.epochs=1", "--set", "ssm.init=lin,dfout", "--set", "ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.01,0.03,0.1", "--out", dir}
	out := ok(t, args...)
	for _, name := range []string{"sweep.csv", "sweep.png", "ssm.init=dfout,ssm.dt_min+ssm.dt_max+ssm.xi_min+ssm.xi_max=0.03,seed=1/best.safetensors"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "sweep.csv"))
	if err != nil || strings.Count(string(table), "\n") != 1+6 || !strings.Contains(out, "sweep.png") {
		t.Errorf("%v\n%s\n%s", err, table, out)
	}
	redrawn := filepath.Join(t.TempDir(), "again.png")
	ok(t, "plot", "sweep", dir, "--out", redrawn)
	if !bytes.Equal(read(t, redrawn), read(t, filepath.Join(dir, "sweep.png"))) {
		t.Error("plot sweep draws another picture than sweep")
	}
	ok(t, args...)
	if again, _ := os.ReadFile(filepath.Join(dir, "sweep.csv")); string(again) != string(table) {
		t.Errorf("the second time\n%s\nthe first\n%s", again, table)
	}
	if code, _, stderr := invoke(nil, "sweep", "delay", "--preset", "steps", "--out", dir); code != exitUsage || !strings.Contains(stderr, "kernel-length, ssm-layers, step, step-max") {
		t.Errorf("unknown preset: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := invoke(nil, "sweep", "delay", "--set", "ssm.init", "--out", dir); code != exitUsage || !strings.Contains(stderr, "ssm.init") {
		t.Errorf("no value: exit code %d, %s", code, stderr)
	}
}

// convert reads full layers, prints what became of each tensor, and asks for what the file cannot tell.
func TestConvertFullLayers(t *testing.T) {
	for _, g := range golden.Imports(t) {
		in, out := g.WritePth(t), filepath.Join(t.TempDir(), "m.safetensors")
		args := []string{"convert", in, out, "--disc", g.Config.Disc}
		if g.Config.Version == "v4" {
			code, _, stderr := invoke(nil, args...)
			if code != exitUsage || !strings.Contains(stderr, `want step "exp" or "softplus"`) {
				t.Errorf("%s without a step: exit code %d, %s", g.Name, code, stderr)
			}
			args = append(args, "--step", g.Config.DtTransform)
		}
		stdout := ok(t, args...)
		if n := strings.Count(stdout, "\n"); n != len(g.Tensors) || strings.Count(stdout, "(not used)") != map[string]int{"v3": 2, "v4": 0}[g.Config.Version] {
			t.Errorf("%s: %d lines for %d tensors\n%s", g.Name, n, len(g.Tensors), stdout)
		}
		if _, err := model.Load(out); err != nil {
			t.Error(err)
		}
	}
}

// convert writes a checkpoint, and reads it back as the same network.
func TestConvertToPyTorch(t *testing.T) {
	m := digitsModel(t)
	dir := t.TempDir()
	out, back := filepath.Join(dir, "m.pth"), filepath.Join(dir, "m.safetensors")
	stdout := ok(t, "convert", m, out, "--to", "pytorch")
	if !strings.Contains(stdout, "input 0: subtract") {
		t.Errorf("stdout %q", stdout)
	}
	ok(t, "convert", out, back)
	a, err := model.Load(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Load(back)
	if err != nil {
		t.Fatal(err)
	}
	if a.Config.DModel != b.Config.DModel || a.Config.NLayers != b.Config.NLayers || a.Weights.Layers[0].MixWeight[3] != b.Weights.Layers[0].MixWeight[3] {
		t.Errorf("%+v became %+v", a.Config, b.Config)
	}
	mustSay(t, nil, []string{"convert", m, back, "--to", "pytorch"}, exitUsage, ".pth")
	mustSay(t, nil, []string{"convert", m, out, "--to", "pytorch", "--disc", "zoh"}, exitUsage, "takes no other option")
	mustSay(t, nil, []string{"convert", m, out, "--to", "onnx"}, exitUsage, "onnx")
	mustSay(t, nil, []string{"convert", out, out, "--to", "pytorch"}, exitBadInput, out)
}
