package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/train"
)

// file is a file of a run's checkpoint in the object store, which verifies its content.
type file struct {
	Path   string `json:"path"`   // in the run folder, with slashes
	Hash   string `json:"hash"`   // SHA-256
	Object string `json:"object"` // its name
}

// logFile is the log of the workers that trained the run, in the run folder.
const logFile = "worker.log"

// runFiles returns the files of a run folder that the object store has.
func runFiles() []string { return append(train.RunFiles(), logFile) }

// gone reports whether an error says that the broker has lost an object, or has damaged it.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrDigestMismatch)
}

// put stores the files of a run folder as objects whose names begin with prefix, with another
// configuration. It keeps the objects in old whose content is the same.
func put(ctx context.Context, objects jetstream.ObjectStore, dir, prefix string, old []file, config []byte) ([]file, error) {
	var files []file
	for i, name := range runFiles() {
		text := config
		if i > 0 {
			var err error
			if text, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("cluster: %w", err)
			}
		}
		f := file{Path: name, Hash: fmt.Sprintf("%x", sha256.Sum256(text))}
		f.Object = prefix + "." + f.Hash[:16]
		if i := slices.IndexFunc(old, func(o file) bool { return o.Path == name && o.Hash == f.Hash }); i >= 0 {
			f = old[i]
		} else if err := putObject(ctx, objects, f.Object, bytes.NewReader(text)); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// putObject stores an object. An error of the reader is no brokerError.
func putObject(ctx context.Context, objects jetstream.ObjectStore, name string, r io.Reader) error {
	in := &source{Reader: r}
	_, err := objects.Put(ctx, jetstream.ObjectMeta{Name: name}, in)
	switch {
	case in.failed != nil:
		return fmt.Errorf("cluster: object %s: %w", name, in.failed)
	case err != nil:
		return brokerError{fmt.Errorf("cluster: object %s: %w", name, err)}
	}
	return nil
}

// source is a reader that keeps its error.
type source struct {
	io.Reader
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

// getObject passes an object to a function. An error of the broker is a brokerError, whatever the
// function returns.
func getObject(ctx context.Context, objects jetstream.ObjectStore, name string, use func(io.Reader) error) error {
	r, err := objects.Get(ctx, name)
	if err != nil {
		return brokerError{fmt.Errorf("cluster: object %s: %w", name, err)}
	}
	defer r.Close()
	in := &source{Reader: r}
	if err = use(in); err == nil {
		_, err = io.Copy(io.Discard, in) // at its end the client compares the digest
	}
	if in.failed != nil {
		return brokerError{fmt.Errorf("cluster: object %s: %w", name, in.failed)}
	}
	return err
}

// get replaces a folder by one with the files of a checkpoint. The broker has them until get has
// succeeded.
func get(ctx context.Context, objects jetstream.ObjectStore, dir string, files []file) error {
	disk := atomicfile.System()
	if err := disk.RemoveAll(dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		err := disk.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = disk.Write(path, 0o666, func(w io.Writer) error {
				return getObject(ctx, objects, f.Object, func(r io.Reader) error { _, err := io.Copy(w, r); return err })
			})
		}
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return nil
}

// remove deletes the objects of old that are not in kept. What remains is deleted with the sweep.
func remove(ctx context.Context, objects jetstream.ObjectStore, old, kept []file) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	for _, f := range old {
		if !slices.ContainsFunc(kept, func(k file) bool { return k.Object == f.Object }) {
			_ = objects.Delete(ctx, f.Object)
		}
	}
}
