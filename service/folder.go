package service

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

const (
	suffix   = ".stream"
	lockFile = "lock" // in the folder; locked while a Folder is open
)

// Folder is a Store in a folder, with one file per snapshot. One process can use the folder at a
// time; on a network file system without locks, this is not checked. Revisions are counted anew
// each time the folder is opened.
type Folder struct {
	files atomicfile.Files
	dir   string
	lock  *filelock.Lock

	mu   sync.Mutex       // held during operations on files; protects the following fields
	last uint64           // revision
	list map[string]Entry // by stream; nil after Close
}

// OpenFolder returns the Store of a folder, which it creates if necessary. The caller calls Close.
func OpenFolder(dir string) (*Folder, error) { return openFolder(atomicfile.System(), dir) }

func openFolder(files atomicfile.Files, dir string) (*Folder, error) {
	f := &Folder{files: files, dir: dir, list: map[string]Entry{}}
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	f.lock = lock
	if err := f.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read lists the snapshots in the folder and removes temporary files. Other files stay.
func (f *Folder) read() error {
	all, err := f.files.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, file := range all {
		name, temporary := atomicfile.TemporaryOf(file.Name())
		digits, ours := strings.CutSuffix(name, suffix)
		stream, err := hex.DecodeString(digits)
		if !ours || err != nil {
			continue
		}
		if temporary {
			if err := f.files.Remove(filepath.Join(f.dir, file.Name())); err != nil {
				return err
			}
			continue
		}
		info, err := file.Info()
		if err != nil {
			return err
		}
		f.set(string(stream), info.ModTime())
	}
	return nil
}

// path returns the file of a stream. The name is in hexadecimal, because some file systems ignore
// the case of letters.
func (f *Folder) path(stream string) string {
	return filepath.Join(f.dir, hex.EncodeToString([]byte(stream))+suffix)
}

// set gives a stream a new revision.
func (f *Folder) set(stream string, saved time.Time) uint64 {
	f.last++
	f.list[stream] = Entry{stream, f.last, saved}
	return f.last
}

// check returns an error if a stream does not have a revision.
func (f *Folder) check(stream string, revision uint64) error {
	switch {
	case f.list == nil:
		return fs.ErrClosed
	case f.list[stream].Revision != revision:
		return ErrRevision
	}
	return nil
}

// Get implements Store.
func (f *Folder) Get(_ context.Context, stream string) ([]byte, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.list[stream]
	if !ok {
		return nil, 0, nil
	}
	b, err := f.files.ReadFile(f.path(stream), maxSnapshot)
	return b, e.Revision, err
}

// Put implements Store.
func (f *Folder) Put(_ context.Context, stream string, snapshot []byte, revision uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.check(stream, revision)
	if err == nil {
		err = f.files.Replace(f.path(stream), 0o600, func(w io.Writer) error {
			_, err := w.Write(snapshot)
			return err
		})
	}
	if err != nil {
		return 0, err
	}
	return f.set(stream, time.Now()), nil
}

// Delete implements Store.
func (f *Folder) Delete(_ context.Context, stream string, revision uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(stream, revision); err != nil {
		return err
	}
	if err := f.files.Remove(f.path(stream)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(f.list, stream)
	return f.files.SyncFolder(f.dir) // otherwise the stream might return after a power cut
}

// List implements Store.
func (f *Folder) List(context.Context) ([]Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.list)), nil
}

// Close waits for operations in progress and lets other processes use the folder. Later calls of
// Put and Delete are errors.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
	return f.lock.Close()
}
