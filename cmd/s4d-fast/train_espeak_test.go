package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// speak has espeak-ng say a word and returns its samples at 22,050 Hz. Voice, speed and pitch
// differ between takes.
func speak(t *testing.T, word string, take int) []float32 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "word.wav")
	voice := []string{"en-us", "en-us+m3", "en-us+f2", "en-gb", "en-gb+m7"}[take%5]
	must.Do(t, exec.Command("espeak-ng", "-v", voice, "-s", fmt.Sprint(120+5*(take/5)), "-p", fmt.Sprint(30+5*(take%8)), "-w", path, word).Run())
	x, f, err := audio.ReadFile(path)
	must.Do(t, err)
	must.Equal(t, fmt.Sprint(f.SampleRate, f.Channels), "22050 1", "format of espeak-ng")
	return x
}

// A folder of 40 clips of six words, spoken by espeak-ng, becomes a detector of these words by one
// command, and a second one streams events with them.
func TestTrainSpokenWords(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil || testing.Short() {
		t.Skip("espeak-ng is not installed, or the test is short")
	}
	words := []string{"apple", "banana", "window", "seven", "kitchen", "yellow"}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	var talk []float32
	var onsets []int64
	pause := make([]float32, 11025)
	for _, word := range words {
		for take := range 40 {
			testfiles.Clip(t, filepath.Join(dir, word, fmt.Sprintf("%d.wav", take)), 22050, speak(t, word, take))
		}
	}
	for i, word := range words {
		talk = append(talk, pause...)
		onsets = append(onsets, int64(len(talk)))
		talk = append(talk, speak(t, word, 40+i)...) // faster than those in the folder
	}
	args := []string{"train", "audio", "--data", dir, "--out", out, "--rate", "16000", "--threads", "2"}
	for _, set := range []string{
		"data.streams=256", "data.seconds=2", "data.snr=[20, 40]", "data.bands=20", "model.d_model=24", "model.n_layers=2", "ssm.d_state=8",
		"train.epochs=12", "train.batch=8", "optim.lr=0.02",
	} {
		args = append(args, "--set", set)
	}
	ok(t, args...)
	path := filepath.Join(t.TempDir(), "talk.wav")
	testfiles.Clip(t, path, 22050, append(talk, pause...))
	found, _ := lines(t, ok(t, "stream", filepath.Join(out, "best.safetensors"), path, "--resample"))
	right := 0
	for i, word := range words {
		for _, e := range found {
			if e.Label == word && e.Onset >= onsets[i]-5512 && e.Onset < onsets[i]+22050 {
				right++
				break
			}
		}
	}
	wrong := len(found) - right
	t.Logf("%d of %d words detected; %d wrong events", right, len(words), wrong)
	if right < 4 || wrong > 1 {
		t.Errorf("events %+v, expected the words %q at %v", found, words, onsets)
	}
}
