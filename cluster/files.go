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
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/train"
)

// file is a file of a run's checkpoint in the object store.
type file struct {
	Path   string `json:"path"` // in the run folder, with slashes
	Object string `json:"object"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// logFile is the log of the workers that trained the run, in the run folder.
const logFile = "worker.log"

// runFiles returns the files of a run folder that the object store has.
func runFiles() []string { return append(train.RunFiles(), logFile) }

// maxFile bounds the files of a checkpoint, in bytes.
const maxFile = 64 << 30

// checkFiles accepts each file of a run folder once.
func checkFiles(files []file) error {
	seen := map[string]bool{}
	for _, f := range files {
		if !slices.Contains(runFiles(), f.Path) || seen[f.Path] {
			return fmt.Errorf("cluster: file %.200q: expected each of %q at most once", f.Path, runFiles())
		}
		if seen[f.Path] = true; f.Size < 0 || f.Size > maxFile || !hash.MatchString(f.SHA256) {
			return fmt.Errorf("cluster: file %s of %d bytes, hash %.80q: expected at most %d bytes and a SHA-256", f.Path, f.Size, f.SHA256, int64(maxFile))
		}
	}
	return nil
}

// transferTime bounds the transfer of so many bytes.
func transferTime(size int64) time.Duration {
	return 30*time.Second + time.Duration(size/(256<<10))*time.Second
}

// errDamaged is the error of an object whose content is not that of its file.
var errDamaged = errors.New("damaged")

// gone reports whether an error says that the broker has lost an object, or has damaged it.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrDigestMismatch) || errors.Is(err, errDamaged)
}

// stepReader calls a function before each read, and ends with its error.
type stepReader struct {
	io.Reader
	step func() error // nil: none
}

func (r stepReader) Read(p []byte) (int, error) {
	if r.step != nil {
		if err := r.step(); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(p)
}

// put stores the files of a run folder as objects whose names begin with prefix. It keeps the
// objects in old whose content is the same. instead has contents that replace those of files.
func put(ctx context.Context, objects jetstream.ObjectStore, dir, prefix string, old []file, instead map[string][]byte) ([]file, error) {
	var files []file
	for _, name := range runFiles() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		open := func() (io.ReadCloser, error) { return os.Open(path) }
		if text, ok := instead[name]; ok {
			open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		}
		f, err := hashFile(open, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cluster: %s: %w", path, err)
		}
		f.Path, f.Object = name, prefix+"."+f.SHA256[:16]
		if i := slices.IndexFunc(old, func(o file) bool { return o.Path == name && o.SHA256 == f.SHA256 }); i >= 0 {
			files = append(files, old[i])
			continue
		}
		if err := putObject(ctx, objects, f.Object, f.Size, open); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func putObject(ctx context.Context, objects jetstream.ObjectStore, name string, size int64, open func() (io.ReadCloser, error)) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime(size))
	defer cancel()
	r, err := open()
	if err != nil {
		return fmt.Errorf("cluster: object %s: %w", name, err)
	}
	defer r.Close()
	in := &source{Reader: r}
	_, err = objects.Put(ctx, jetstream.ObjectMeta{Name: name}, in)
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

func hashFile(open func() (io.ReadCloser, error), step func() error) (file, error) {
	r, err := open()
	if err != nil {
		return file{}, err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, stepReader{r, step})
	return file{SHA256: fmt.Sprintf("%x", h.Sum(nil)), Size: n}, err
}

// get writes the files of a checkpoint to a folder. A file with another size or content is an
// error. step is called before each read; nil: none.
func get(ctx context.Context, disk atomicfile.Files, objects jetstream.ObjectStore, dir string, files []file, step func() error) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		err := disk.Write(path, 0o666, func(w io.Writer) error { return getObject(ctx, objects, f, w, step) })
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return nil
}

func getObject(ctx context.Context, objects jetstream.ObjectStore, f file, w io.Writer, step func() error) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime(f.Size))
	defer cancel()
	r, err := objects.Get(ctx, f.Object)
	if err != nil {
		return brokerError{fmt.Errorf("object %s: %w", f.Object, err)}
	}
	defer r.Close()
	h := sha256.New()
	in := &source{Reader: stepReader{r, step}}
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(in, f.Size+1))
	switch {
	case err != nil && in.failed == nil: // of the file
		return err
	case err != nil:
		return brokerError{fmt.Errorf("object %s: %w", f.Object, err)}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); n != f.Size || got != f.SHA256 {
		return fmt.Errorf("object %s: %w: at least %d bytes with the hash %s, expected %d with %s", f.Object, errDamaged, n, got, f.Size, f.SHA256)
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
