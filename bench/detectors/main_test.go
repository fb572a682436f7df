package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The tables have a row per SNR and per background. Silence has no false alarms.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, x []float32) {
		must.Do(t, audio.WriteWAVFile(filepath.Join(dir, name), 8000, x))
	}
	tone := make([]float32, 4000)
	for i := range tone {
		tone[i] = 0.3 * float32(math.Sin(0.4*float64(i)))
	}
	for i := range 3 {
		write(fmt.Sprintf("%d_tone.wav", i), tone)
	}
	silence := t.TempDir()
	must.Do(t, audio.WriteWAVFile(filepath.Join(silence, "silence.wav"), 8000, make([]float32, 80000)))
	var out strings.Builder
	must.Do(t, run(t.Context(), &out, dir, `^(\d)_tone`, "", []string{"digits", silence}))
	text := out.String()
	for _, want := range []string{"3 clips of words", "| no noise | ", "| 10 dB | ", " | 0.00 | 0 | 0.00 | 0.00 to "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	must.Equal(t, strings.Count(text, "\n"), 1+1+2+len(snrs)+1+2+1, "lines")
	must.Fail(t, run(t.Context(), &out, "", "", "", []string{"digits"}), "expected a model, and clips")
	must.Fail(t, run(t.Context(), &out, dir, "(", "", []string{"digits"}), "missing closing )")

	// The same relative path in the folder of held-out recordings, which is longer.
	held := t.TempDir()
	t.Chdir(filepath.Dir(silence))
	must.Do(t, os.Mkdir(filepath.Join(held, filepath.Base(silence)), 0o777))
	must.Do(t, audio.WriteWAVFile(filepath.Join(held, filepath.Base(silence), "long.wav"), 8000, make([]float32, 8000*60)))
	out.Reset()
	must.Do(t, run(t.Context(), &out, "", "", held, []string{"digits", filepath.Base(silence)}))
	if text := out.String(); !strings.Contains(text, "| 0.00 | 0 |") || !strings.Contains(text, "\nThe same in S4D_HELDOUT:\n\n| background | ") || !strings.Contains(text, "| 0.02 | 0 |") {
		t.Errorf("with held-out recordings:\n%s", text)
	}
}
