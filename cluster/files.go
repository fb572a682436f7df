package cluster

import (
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
		} else if _, err := objects.PutBytes(ctx, f.Object, text); err != nil {
			return nil, brokerError{fmt.Errorf("cluster: object %s: %w", f.Object, err)}
		}
		files = append(files, f)
	}
	return files, nil
}

// get replaces a folder by one with the files of a checkpoint. The broker has them until get has
// succeeded.
func get(ctx context.Context, objects jetstream.ObjectStore, dir string, files []file) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	disk := atomicfile.System()
	for _, f := range files {
		text, err := objects.GetBytes(ctx, f.Object)
		if err != nil {
			return brokerError{fmt.Errorf("cluster: object %s: %w", f.Object, err)}
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err = disk.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = disk.Write(path, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err })
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
