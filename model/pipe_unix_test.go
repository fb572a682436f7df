//go:build unix

package model

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A pipe is rejected as a checkpoint without waiting for data.
func TestImportPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("the file system has no named pipes: ", err)
	}
	must.Reject(ImportPyTorch(path, ImportOptions{}))(t, "not a regular file")
}
