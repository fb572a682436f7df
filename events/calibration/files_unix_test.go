//go:build unix

package calibration_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A named pipe in a folder of background is an error: to open it would block.
func TestBackgroundPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.wav"), 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	streams := background(t, dir, false)
	tape := must.Get(streams[0].Open())(t)
	defer tape.Close()
	must.Reject(tape.Read(make([]float32, 1)))(t, datafile.ErrNotRegular)
}
