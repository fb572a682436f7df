// Package testfiles writes the files of tests: recordings, text and bytes, in folders that it
// creates.
package testfiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Write writes a file of any content.
func Write[T string | []byte](t testing.TB, path string, content T) {
	t.Helper()
	makeFolder(t, path)
	must.Do(t, os.WriteFile(path, []byte(content), 0o666))
}

// Clip writes the samples x of one channel at a rate in Hz to a WAV file.
func Clip(t testing.TB, path string, rate int, x []float32) {
	t.Helper()
	makeFolder(t, path)
	must.Do(t, audio.WriteWAVFile(path, rate, x))
}

// Ramp writes the n samples start, start+1, … (in units of 2⁻¹⁵) to a WAV file.
func Ramp(t testing.TB, path string, rate, n, start int) {
	t.Helper()
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(start+i) / (1 << 15)
	}
	Clip(t, path, rate, x)
}

func makeFolder(t testing.TB, path string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
}
