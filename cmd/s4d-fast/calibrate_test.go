package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// calibrationFiles writes a model of tones, clips of words of which some are too soft to be found,
// and a background of 40 s with two tones, one loud and one soft.
func calibrationFiles(t *testing.T) (modelFile, words, background string) {
	t.Helper()
	dir := t.TempDir()
	words, background, modelFile = filepath.Join(dir, "words"), filepath.Join(dir, "street"), filepath.Join(dir, "tones.safetensors")
	must.Do(t, must.Get(tonemodel.New())(t).Save(modelFile))
	save := func(path string, s *tonemodel.Sound, gain float32) {
		for i := range s.Samples {
			s.Samples[i] *= gain
		}
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, audio.WriteWAVFile(path, tonemodel.SampleRate, s.Samples))
	}
	for i, label := range []string{"low", "high", "low", "low", "high", "low", "other", "none"} {
		s := &tonemodel.Sound{}
		s.Tone(map[bool]string{true: "high", false: "low"}[label == "high"], 0.5)
		save(filepath.Join(words, label, fmt.Sprintf("%d.wav", i)), s, map[bool]float32{true: 0.001, false: 1}[i == 5])
	}
	for i, gain := range []float32{1, 0.12} {
		s := &tonemodel.Sound{}
		s.Silence(10)
		s.Tone("low", 0.5)
		s.Silence(9.5)
		save(filepath.Join(background, fmt.Sprintf("%d.wav", i)), s, gain)
	}
	return modelFile, words, background
}

// calibrate chooses the point with the fewest misses and writes it into a copy of the model.
func TestCalibrate(t *testing.T) {
	m, words, background := calibrationFiles(t)
	before := read(t, m)
	args := []string{"calibrate", m, "--words", words, "--background", background, "--snr", "clean"}
	plot := filepath.Join(t.TempDir(), "curve.svg")
	calibrated := filepath.Join(t.TempDir(), "calibrated.safetensors")
	stdout := ok(t, append(args, "--false-alarms", "100", "--plot", plot, "--write", calibrated)...)
	contains(t, "text", stdout, "6 of 2 labels", "gaps 0.3 to 1.5 s, clean", "does not have: none, other",
		"operating point: threshold", "1 of 6 words, 16.7 % (95 % interval 3.0 % to 56.4 %)", "low 1/4, high 0/2", "latency       from the end of a word to its event: median 0.",
		"   false alarms   hours   per hour   95 % interval   in training   background\n              1    0.01         90       2.3 – 501     not known   "+background, "←")
	contains(t, "plot", string(read(t, plot)), "6 words, 0.01 hours of background", "100 per hour", "operating point")
	equal(t, "the model is unchanged", string(read(t, m)) == string(before), true)

	got := must.Get(model.Load(calibrated))(t)
	d := got.Meta.Detection
	if d == nil || d.Words != 6 || d.MissRate != 1./6 || math.Abs(d.FalseAlarmsPerHour-90) > 1e-9 || math.Abs(d.BackgroundHours-40./3600) > 1e-9 {
		t.Fatalf("operating point %+v", d)
	}
	opt := events.DefaultsFor(got)
	equal(t, "threshold", opt.Threshold, d.Threshold)

	// --write may be the model itself. The background of 40 s is too short for a rate per hour.
	var r detectionResult
	code, out, stderr := invoke(nil, append(args, "--false-alarms", "200", "--json", "--write", m)...)
	equal(t, "exit code", code, exitOK)
	decode(t, out, &r)
	contains(t, "stderr", stderr, "warning: 0.011 hours of "+background+" cannot show", "wrote "+m)
	equal(t, "file", r.Out, m)
	equal(t, "missed", r.Chosen.Missed, 1)
	equal(t, "words", r.Words.Count, 6)
	equal(t, "labels", fmt.Sprint(r.Words.Labels), "map[high:2 low:4]")
	if r.Words.SNR != nil || len(r.Curve) == 0 || r.Model.Threshold != 0.5 {
		t.Errorf("result %+v", r)
	}
	equal(t, "the model has the operating point", must.Get(model.Load(m))(t).Meta.Detection.Threshold, r.Chosen.Threshold)
}

// The interval of false alarms and the gaps are part of the result.
func TestCalibrateInterval(t *testing.T) {
	m, words, background := calibrationFiles(t)
	out := ok(t, "calibrate", m, "--words", words, "--background", background, "--background", filepath.Join(background, "1.wav"), "--threads", "3", "--json",
		"--snr", "12", "--noise", "background", "--tolerance", "0.2")
	var r detectionResult
	decode(t, out, &r)
	equal(t, "gap", r.Words.Gap, [2]float64{0.3, 1.5})
	equal(t, "SNR", *r.Words.SNR, 12)
	equal(t, "groups of background", len(r.Background), 2)
	if r.Chosen != nil || r.Out != "" || r.Model.ByGroup[1].Interval[1] <= r.Model.ByGroup[1].PerHour || r.Model.Latency.Largest < r.Model.Latency.Median {
		t.Errorf("result %+v", r)
	}
}

// Without --write, calibrate measures the model's own point, with words, background or both.
func TestCalibrateMeasures(t *testing.T) {
	m, words, background := calibrationFiles(t)
	both := ok(t, "calibrate", m, "--words", words, "--background", background)
	contains(t, "text", both, "the model's options: threshold 0.5, confirm 3", "missed ", "false alarms   hours", "precision")
	only := ok(t, "calibrate", m, "--words", words)
	if strings.Contains(only, "false alarms") {
		t.Errorf("false alarms without background: %s", only)
	}
	only = ok(t, "calibrate", m, "--background", background)
	contains(t, "text", only, "1    0.01 ")
	if strings.Contains(only, "missed") {
		t.Errorf("missed words without words: %s", only)
	}
	var fields map[string]json.RawMessage
	decode(t, ok(t, "calibrate", m, "--background", background, "--json"), &fields)
	if _, has := fields["words"]; has || strings.Contains(string(fields["model"]), "miss") {
		t.Errorf("words in a result without words: %s", fields)
	}
	if entries := must.Get(os.ReadDir(filepath.Dir(m)))(t); len(entries) != 3 {
		t.Errorf("a measurement wrote a file: %v", entries)
	}
}

// calibrate chooses a threshold for each label of a model that labels every frame: one label gives
// false alarms, so it has a threshold that it never reaches, and the other one keeps that of the
// model. The output, inspect and another measurement say so. Another calibration gives the same.
func TestCalibrateOffsets(t *testing.T) {
	m, words, _ := calibrationFiles(t)
	must.Do(t, must.Get(tonemodel.New())(t).Save(m))
	must.Do(t, os.WriteFile(filepath.Join(words, "low", "x.wav"), []byte("no audio"), 0o666))
	background := hum(t)
	out := filepath.Join(t.TempDir(), "out.safetensors")
	args := []string{"--words", words, "--background", background, "--snr", "30", "--skip-broken"}
	calibrate := func(from string, more ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := invoke(nil, append(append([]string{"calibrate", from, "--false-alarms", "1", "--write", out}, args...), more...)...)
		equal(t, "exit code", code, exitOK)
		equal(t, "warnings in "+stderr, strings.Count(stderr, "warning: "), 1)
		equal(t, "skipped files in "+stderr, strings.Count(stderr, "skipped "), 1)
		return stdout, stderr
	}
	var r detectionResult
	stdout, _ := calibrate(m, "--json")
	decode(t, stdout, &r)
	p := r.Chosen
	if p.Thresholds["low"] < 0.9934 || p.Thresholds["high"] != 0.5 || len(p.Thresholds) != 2 { // at most σ(5) is reached
		t.Errorf("thresholds %v", p.Thresholds)
	}
	equal(t, "missed", fmt.Sprint(p.PointWords.ByLabel), "map[high:0 low:4]")
	equal(t, "false alarms", fmt.Sprint(p.ByGroup[0].FalseAlarms, p.AlarmsByLabel), "0 map[high:0 low:0]")
	if alarms := r.Model.ByGroup[0].FalseAlarms; r.Model.Thresholds != nil || r.Model.Threshold != 0.5 || alarms == 0 || r.Model.AlarmsByLabel["low"] != alarms {
		t.Errorf("the model's own point %+v, false alarms %+v", r.Model, r.Model.ByGroup)
	}
	d := must.Get(model.Load(out))(t).Meta.Detection
	if len(d.Offsets) != 3 || d.Offsets[0] > -4 || d.Offsets[1] != 0 || d.Offsets[2] != 0 || d.MissRate != 4./6 || d.FalseAlarmsPerHour != 0 {
		t.Errorf("operating point %+v", d)
	}
	thresholds := fmt.Sprintf("threshold low %.4g, high 0.5", p.Thresholds["low"])
	contains(t, "inspect", ok(t, "inspect", out), thresholds)

	var own detectionResult
	decode(t, ok(t, append([]string{"calibrate", out, "--json"}, args...)...), &own)
	equal(t, "point of the calibrated model", string(must.Get(json.Marshal(own.Model))(t)), string(must.Get(json.Marshal(p))(t)))

	text, _ := calibrate(out)
	contains(t, "text", text, "high 0.5\n", "by label    threshold low", "low 4/4, high 0/2")
	again := must.Get(model.Load(out))(t).Meta.Detection
	equal(t, "operating point of the second calibration", fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", d))
	_, both, _ := strings.Cut(ok(t, append([]string{"calibrate", m}, args...)...), "false alarms  ")
	contains(t, "false alarms without offsets", both, fmt.Sprintf("by label    low %d\n", r.Model.AlarmsByLabel["low"]))
}

// Recordings on which the model was trained are an error that names them, unless they are allowed.
// Then the tables count them.
func TestCalibrateTrainingData(t *testing.T) {
	m, words, background := calibrationFiles(t)
	args := []string{"calibrate", m, "--words", words, "--background", background}
	_, _, stderr := invoke(nil, args...)
	contains(t, "stderr without stored recordings", stderr, "does not store which recordings it was trained on")

	trained := must.Get(model.Load(m))(t)
	clip, street := filepath.Join(words, "low", "5.wav"), filepath.Join(background, "1.wav")
	for _, path := range []string{clip, street} {
		print := audio.NewFingerprint()
		print.Add(must.Get(audio.ReadMono(path, tonemodel.SampleRate))(t))
		trained.Meta.Recordings = trained.Meta.Recordings.With(print.Sum())
	}
	must.Do(t, trained.Save(m))
	checkRun(t, nil, args, exitBadInput, "trained on 2 of the recordings, which", "--allow-training-data: ", clip+", "+street)
	stdout := ok(t, append(args, "--allow-training-data")...)
	contains(t, "text", stdout, "the model was trained on 1 of 6 files", "1 of 2 files   "+background)
	contains(t, "inspect", ok(t, "inspect", m), "2 recordings, by their fingerprints")
	other := []string{"calibrate", m, "--background", filepath.Join(background, "0.wav")}
	contains(t, "text of other background", ok(t, other...), "0 of 1 files")
}

// hum returns the path of a background of 40 s with a long low tone: the model is never surer of a
// word.
func hum(t *testing.T) string {
	t.Helper()
	s := &tonemodel.Sound{}
	s.Silence(20)
	s.Tone("low", 3)
	s.Silence(17)
	return recorded(t, tonemodel.SampleRate, s.Samples)
}

func TestCalibrateErrors(t *testing.T) {
	m, words, background := calibrationFiles(t)
	both := []string{"--words", words, "--background", background}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "requires --words", []string{"calibrate", m, "--background", background, "--write", "x.safetensors"}},
		{exitUsage, "requires --words", []string{"calibrate", m, "--words", words, "--write", "x.safetensors"}},
		{exitUsage, "--plot requires", []string{"calibrate", m, "--words", words, "--plot", "x.png"}},
		{exitUsage, "nothing to measure", []string{"calibrate", m}},
		{exitUsage, "--noise background requires", []string{"calibrate", m, "--words", words, "--noise", "background"}},
		{exitUsage, "--false-alarms -1", append([]string{"calibrate", m, "--false-alarms=-1"}, both...)},
		{exitUsage, "x.txt: expected a name", append([]string{"calibrate", m, "--write", "x.txt"}, both...)},
		{exitUsage, "--threads -1", append([]string{"calibrate", m, "--threads=-1"}, both...)},
		{exitUsage, "--list 1001: expected 0 to 1000", append([]string{"calibrate", m, "--list", "1001"}, both...)},
		{exitUsage, "--snr loud", append([]string{"calibrate", m, "--snr", "loud"}, both...)},
		{exitUsage, "--tolerance +Inf", append([]string{"calibrate", m, "--tolerance", "inf"}, both...)},
		{exitUsage, ".png or .svg", append([]string{"calibrate", m, "--plot", "x.gif"}, both...)},
		{exitUsage, "--label: ", append([]string{"calibrate", m, "--label", "("}, both...)},
		{exitBadInput, "--background: calibration: ", []string{"calibrate", m, "--words", words, "--background", "nowhere"}},
		{exitBadInput, "--words: calibration: ", []string{"calibrate", m, "--words", words + "x", "--background", background}},
		{exitBadInput, "no clip with a label", []string{"calibrate", m, "--words", background, "--background", background, "--label", "([0-9])"}},
		{exitBadInput, "pool", append([]string{"calibrate", toneModel(t, func(m *model.Model) { m.Config.Pool = model.PoolLast })}, both...)},
	} {
		checkRun(t, nil, c.args, c.code, c.want)
	}
	swapped := filepath.Join(t.TempDir(), "swapped") // each word has the name of the other
	for from, to := range map[string]string{"low": "high", "high": "low"} {
		must.Do(t, os.CopyFS(filepath.Join(swapped, to), os.DirFS(filepath.Join(words, from))))
	}
	checkRun(t, nil, []string{"calibrate", m, "--words", swapped, "--background", background, "--snr", "clean", "--false-alarms", "1000", "--write", m}, exitFailed,
		"the model recognises none of the 6 words: check that --words")
	must.Do(t, os.RemoveAll(filepath.Join(words, "high")))
	checkRun(t, nil, []string{"calibrate", m, "--words", words, "--background", hum(t), "--write", m}, exitFailed,
		"with at most 1 false alarms per hour in each background recognises a word: the best has ", "sound.wav and misses 1 of 4 words, at threshold")
	if entries := must.Get(os.ReadDir(filepath.Dir(m)))(t); len(entries) != 3 {
		t.Errorf("a command that failed wrote a file: %v", entries)
	}

	broken := filepath.Join(background, "0.wav")
	must.Do(t, os.WriteFile(broken, []byte("no audio"), 0o666))
	must.Do(t, os.WriteFile(filepath.Join(words, "low", "x.wav"), []byte("no audio"), 0o666))
	checkRun(t, nil, append([]string{"calibrate", m}, both...), exitBadInput, "x.wav")
	_, _, stderr := invoke(nil, append([]string{"calibrate", m, "--skip-broken"}, both...)...)
	contains(t, "stderr", stderr, "skipped ", broken, filepath.Join(words, "low", "x.wav"))
}

// Ctrl-C ends a calibration, and no model is written.
func TestCalibrateInterrupt(t *testing.T) {
	m, words, background := calibrationFiles(t)
	must.Do(t, audio.WriteWAVFile(filepath.Join(background, "long.wav"), tonemodel.SampleRate, make([]float32, 600*tonemodel.SampleRate)))
	code, _ := interruptedOn(t, true, "measured", "calibrate", m, "--words", words, "--background", background, "--write", m+"x.safetensors")
	equal(t, "exit code", code, 130)
	if entries := must.Get(os.ReadDir(filepath.Dir(m)))(t); len(entries) != 3 {
		t.Errorf("files %v", entries)
	}
}
