package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// beeps writes a folder of two words, beeps of a low and a high pitch by four speakers, and of
// other sounds, at several sampling rates.
func beeps(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for word, hertz := range map[string]float64{"low": 400, "high": 1800, "_unknown_": 900} {
		must.Do(t, os.Mkdir(filepath.Join(dir, word), 0o777))
		for i := range 24 {
			rate := []int{8000, 16000, 11025}[i%3]
			x := beep(rate, hertz*(1+0.01*float64(i%5)), 0.3)
			must.Do(t, audio.WriteWAVFile(filepath.Join(dir, word, fmt.Sprintf("speaker%d_%d.wav", i%4, i)), rate, x))
		}
	}
	return dir
}

// beep is a tone of so many seconds, between 0.1 s of silence.
func beep(rate int, hertz, seconds float64) []float32 {
	pause := rate / 10
	x := make([]float32, 2*pause+int(seconds*float64(rate)))
	for i := pause; i < len(x)-pause; i++ {
		x[i] = 0.3 * float32(math.Sin(2*math.Pi*hertz/float64(rate)*float64(i)))
	}
	return x
}

// smallAudio are the settings of a detector that learns nothing.
var smallAudio = sets("data.rate=8000", "data.streams=4", "data.seconds=1", "data.bands=8", "model.d_model=4", "model.n_layers=1",
	"ssm.d_state=4", "train.epochs=1", "train.batch=2")

// A folder of recordings becomes a detector of its words by one command, and a second one streams
// events with them. The first prints what the detector confuses and draws it.
func TestTrainAudio(t *testing.T) {
	dir, out := beeps(t), filepath.Join(t.TempDir(), "run")
	args := []string{"train", "audio", "--data", dir, "--out", out, "--rate", "8000", "--group-by", "^speaker[0-9]", "--validation", "0.25"}
	args = append(args, sets("data.streams=256", "data.seconds=2", "data.snr=[20, 40]", "data.bands=16", "model.d_model=16", "model.n_layers=2",
		"ssm.d_state=8", "train.epochs=8", "train.batch=8", "optim.lr=0.02")...)
	must.Do(t, os.WriteFile(filepath.Join(dir, "low", "speaker0_broken1.mp3"), []byte("no audio"), 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("text"), 0o666))
	checkRun(t, nil, args, exitBadInput, "1 of 73 recordings are broken", "speaker0_broken1.mp3", "--skip-broken")

	code, stdout, stderr := invoke(nil, append(args, "--skip-broken")...)
	must.Equal(t, code, exitOK, "exit code; stderr %s", stderr)
	contains(t, "stderr", stderr, "training: 36 recordings (high 18, low 18), 18 of other words, 0s of background\n", "validation: 12 recordings (high 6, low 6), 6 of other",
		" of up to 100 positions, ", "broken, left out: "+filepath.Join(dir, "low", "speaker0_broken1.mp3"), "left out: "+filepath.Join(dir, "LICENSE"))
	contains(t, "stdout", stdout, "Validation clips: ", " of 12 right", "other words: ", " of 6 right", "high   low  none", filepath.Join(out, "confusion.png"))
	if !bytes.HasPrefix(read(t, filepath.Join(out, "confusion.png")), []byte("\x89PNG")) {
		t.Error("confusion.png is not a PNG file")
	}

	var talk []float32
	var onsets []int64
	pitches := []float64{400, 1800, 400, 1800, 1800, 400}
	for _, hertz := range pitches {
		talk = append(talk, make([]float32, 16000)...)
		onsets = append(onsets, int64(len(talk)))
		talk = append(talk, beep(16000, hertz, 0.3)...)
	}
	path := filepath.Join(dir, "talk.wav")
	must.Do(t, audio.WriteWAVFile(path, 16000, append(talk, make([]float32, 16000)...)))
	right := 0
	found, _ := lines(t, ok(t, "stream", filepath.Join(out, "best.safetensors"), path, "--resample"))
	for _, e := range found {
		for i, onset := range onsets {
			if label := map[float64]string{400: "low", 1800: "high"}[pitches[i]]; e.Label == label && e.Onset >= onset && e.Onset < onset+8000 {
				right++
			}
		}
	}
	t.Logf("%d of %d events are right, of %d words", right, len(found), len(onsets))
	if right < len(onsets)-2 || right != len(found) {
		t.Errorf("events %+v, expected one for at least all but two of the words at %v\n%s", found, onsets, stdout)
	}
}

// Every command that loads data reports the recordings that it leaves out, a sweep once. With
// --strict they are errors.
func TestNotes(t *testing.T) {
	dir, out := beeps(t), t.TempDir()
	broken := filepath.Join(dir, "low", "speaker0_broken1.mp3")
	must.Do(t, os.WriteFile(broken, []byte("no audio"), 0o666))
	common := append([]string{"audio", "--data", dir, "--set", "data.skip_broken=true"}, smallAudio...)
	sweep := filepath.Join(out, "sweep")
	for _, args := range [][]string{
		append(append([]string{"sweep"}, common...), "--seeds", "2", "--out", sweep),
		{"eval", filepath.Join(sweep, "seed=1", "best.safetensors"), "--data", dir},
		{"prune", filepath.Join(sweep, "seed=1", "best.safetensors"), filepath.Join(out, "small.safetensors"), "--keep", "0.5", "--data", dir},
	} {
		code, _, stderr := invoke(nil, args...)
		must.Equal(t, code, exitOK, "exit code of %s; stderr %s", args[0], stderr)
		must.Equal(t, strings.Count(stderr, "note: broken, left out: "+broken), 1, "notes of %s in %s", args[0], stderr)
	}
	for _, strict := range [][]string{{"--strict"}, nil} {
		if strict == nil {
			t.Setenv("S4D_STRICT", "1")
		}
		code, _, stderr := invoke(nil, append(append(strict, "train"), common...)...)
		must.Equal(t, code, exitBadInput, "exit code of train; stderr %s", stderr)
		must.Equal(t, strings.Contains(stderr, "broken, left out: "+broken) && strings.Contains(stderr, "(an error because of --strict)"), true, "error in %s", stderr)
	}
}
