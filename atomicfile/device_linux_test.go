package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// device makes a node of one of the memory devices, major number 1.
func device(t *testing.T, minor int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "device")
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|minor); err != nil {
		t.Skip("mknod: ", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the file system allows no devices: ", err)
	}
	f.Close()
	return path
}

func TestDevice(t *testing.T) {
	const null, full = 3, 7
	path := device(t, null)
	must.Do(t, Write(path, 0o666, text("x")))
	wantMode(t, path, 0o600|os.ModeDevice|os.ModeCharDevice)

	path = device(t, full)
	err := Write(path, 0o666, text("x"))
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("error %v, expected one of no space that names %s", err, path)
	}
	wantMode(t, path, 0o600|os.ModeDevice|os.ModeCharDevice)
}
