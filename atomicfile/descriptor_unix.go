//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// duplicate returns an open file of this process under another descriptor.
func duplicate(fd int, name string) (File, error) {
	syscall.ForkLock.RLock() // until no child process inherits it
	defer syscall.ForkLock.RUnlock()
	other, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(other)
	return os.NewFile(uintptr(other), name), nil
}
