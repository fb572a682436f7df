package memfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file.
type file struct {
	fs     *FS
	name   string
	node   *node
	append bool
	at     int // position
	closed bool
}

// do performs an operation on an open file.
func (f *file) do(operation string, run func() error) error {
	return f.fs.do(operation, f.name, func() error {
		if f.closed {
			return fs.ErrClosed
		}
		return run()
	})
}

// Read reads from the position on.
func (f *file) Read(p []byte) (n int, err error) {
	err = f.do("Read", func() error {
		if f.node.entries != nil {
			return syscall.EISDIR
		}
		n = copy(p, f.node.data[min(f.at, len(f.node.data)):])
		f.at += n
		return nil
	})
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write writes at the position, or at the end of the file. A write that fails writes half.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.do("Write", func() error {
		n = f.write(p)
		return nil
	})
	if err != nil && !f.closed {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		n = f.write(p[:len(p)/2])
	}
	return n, err
}

func (f *file) write(p []byte) int {
	if f.append {
		f.at = len(f.node.data)
	}
	w := write{f.at, slices.Clone(p)}
	f.node.data = w.apply(f.node.data)
	f.node.writes = append(f.node.writes, w)
	f.at += len(p)
	return len(p)
}

// apply returns the content after a write. Bytes before it that were never written are zero.
func (w write) apply(content []byte) []byte {
	content = slices.Clone(content)
	if more := w.at + len(w.data) - len(content); more > 0 {
		content = append(content, make([]byte, more)...)
	}
	copy(content[w.at:], w.data)
	return content
}

// Chmod sets the permissions.
func (f *file) Chmod(perm fs.FileMode) error {
	return f.do("Chmod", func() error {
		f.node.mode = f.node.mode.Type() | perm
		return nil
	})
}

// Sync stores the content of a file, or the names of a folder. After an error the writes so far are
// never stored.
func (f *file) Sync() error {
	n := f.node
	err := f.do("Sync", func() error {
		for _, w := range n.writes {
			n.stored = w.apply(n.stored)
		}
		for _, c := range n.changes {
			c.apply(n.synced)
		}
		n.changes = nil
		return nil
	})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n.writes = nil
	return err
}

// Close closes the file. Like the system's, it does not sync.
func (f *file) Close() error {
	err := f.do("Close", func() error { return nil })
	f.closed = true
	return err
}
