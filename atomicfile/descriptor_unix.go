//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// duplicate returns an open file of this process under another descriptor.
func duplicate(fd int, name string) (File, error) {
	other, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(other), name), nil
}
