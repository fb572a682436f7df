package service

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

const (
	suffix   = ".stream"
	lockFile = "lock" // in the folder; locked while a Folder is open
)

// fileName matches the names of snapshots, and of the temporary files that a crash leaves. The name
// of a stream is written in hexadecimal, because some file systems ignore the case of letters.
var fileName = regexp.MustCompile(`^((?:[0-9a-f]{2}){1,64})\` + suffix + `(\.[0-9]+\.tmp)?$`)

// Folder is a Store in a folder, with one file per snapshot. One process can use the folder at a
// time; on a network file system without locks, this is not checked. Revisions are counted anew
// each time the folder is opened.
type Folder struct {
	files atomicfile.Files
	dir   string
	max   int64     // bytes
	lock  io.Closer // of the folder; nil on a file system other than the operating system's
	seed  maphash.Seed
	busy  [64]sync.Mutex // each is held during operations on the files of its streams

	mu     sync.Mutex // protects the following fields
	closed bool
	last   uint64 // revision
	total  int64  // bytes
	list   map[string]folderEntry
}

type folderEntry struct {
	revision uint64
	size     int64
	saved    time.Time
}

// OpenFolder returns the Store of a folder, which it creates if necessary. Its snapshots may have
// maxBytes in total; further ones are an error. The caller calls Close.
func OpenFolder(dir string, maxBytes int64) (*Folder, error) {
	return openFolder(atomicfile.System(), dir, maxBytes)
}

func openFolder(files atomicfile.Files, dir string, maxBytes int64) (*Folder, error) {
	f := &Folder{files: files, dir: dir, max: maxBytes, seed: maphash.MakeSeed(), list: map[string]folderEntry{}}
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if files == atomicfile.System() {
		lock, err := filelock.Try(filepath.Join(dir, lockFile))
		if errors.Is(err, filelock.ErrLocked) {
			return nil, fmt.Errorf("another service uses the folder %s: stop it, or choose another folder", dir)
		} else if err != nil {
			return nil, err
		}
		f.lock = lock
	}
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
		parts := fileName.FindStringSubmatch(file.Name())
		if parts == nil {
			continue
		}
		if parts[2] != "" {
			if err := f.files.Remove(filepath.Join(f.dir, file.Name())); err != nil {
				return err
			}
			continue
		}
		info, err := file.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: mode %v: expected a regular file", filepath.Join(f.dir, file.Name()), info.Mode())
		}
		name, _ := hex.DecodeString(parts[1]) // the expression permits only valid digits
		f.last++
		f.total += info.Size()
		f.list[string(name)] = folderEntry{f.last, info.Size(), info.ModTime()}
	}
	return nil
}

func (f *Folder) path(stream string) string {
	return filepath.Join(f.dir, hex.EncodeToString([]byte(stream))+suffix)
}

// reserve locks the files of a stream until the caller calls release, with the result of its
// operation. The stream then has the entry e, or none if that is zero. It is an error if the stream
// does not have the revision, or if e does not fit.
func (f *Folder) reserve(stream string, revision uint64, e folderEntry) (release func(failed error) uint64, err error) {
	busy := &f.busy[maphash.String(f.seed, stream)%uint64(len(f.busy))]
	busy.Lock()
	f.mu.Lock()
	defer f.mu.Unlock()
	more := e.size - f.list[stream].size
	switch {
	case f.closed:
		err = fs.ErrClosed
	case f.list[stream].revision != revision:
		err = ErrRevision
	case more > 0 && f.total+more > f.max:
		err = fmt.Errorf("%s: the snapshots would have more than %d bytes", f.dir, f.max)
	}
	if err != nil {
		busy.Unlock()
		return nil, err
	}
	f.total += more
	return func(failed error) uint64 {
		defer busy.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if failed != nil {
			f.total -= more
			return 0
		}
		if e == (folderEntry{}) {
			delete(f.list, stream)
			return 0
		}
		f.last++
		e.revision = f.last
		f.list[stream] = e
		return f.last
	}, nil
}

// Get implements Store.
func (f *Folder) Get(_ context.Context, stream string) ([]byte, uint64, error) {
	f.mu.Lock()
	e := f.list[stream]
	f.mu.Unlock()
	if e.revision == 0 {
		return nil, 0, nil
	}
	file, err := f.files.Open(f.path(stream))
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSnapshot+1))
	return b, e.revision, err
}

// Put implements Store.
func (f *Folder) Put(_ context.Context, stream string, snapshot []byte, revision uint64) (uint64, error) {
	release, err := f.reserve(stream, revision, folderEntry{size: int64(len(snapshot)), saved: time.Now()})
	if err != nil {
		return 0, err
	}
	err = f.files.Write(f.path(stream), 0o600, func(w io.Writer) error {
		_, err := w.Write(snapshot)
		return err
	})
	return release(err), err
}

// Delete implements Store.
func (f *Folder) Delete(_ context.Context, stream string, revision uint64) error {
	release, err := f.reserve(stream, revision, folderEntry{})
	if err != nil {
		return err
	}
	err = f.files.Remove(f.path(stream))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	release(err)
	if err == nil {
		err = f.files.SyncFolder(f.dir) // otherwise the stream might return after a power cut
	}
	return err
}

// List implements Store.
func (f *Folder) List(context.Context) ([]Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Entry, 0, len(f.list))
	for stream, e := range f.list {
		list = append(list, Entry{stream, e.revision, e.saved})
	}
	return list, nil
}

// Close waits for operations in progress and lets other processes use the folder. Later calls of
// Put and Delete are errors.
func (f *Folder) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	for i := range f.busy {
		f.busy[i].Lock()
		defer f.busy[i].Unlock()
	}
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}
