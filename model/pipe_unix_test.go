//go:build unix

package model

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is rejected as a checkpoint without waiting for data.
func TestImportPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ImportPyTorch(path, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}
