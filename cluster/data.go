package cluster

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// dataRef is a file or a folder of the data.
type dataRef struct {
	Path string `json:"path"` // on the coordinator's machine
	Hash string `json:"hash"` // of names and contents (treeOf)
	Size int64  `json:"size"` // of the files, in bytes
}

// base returns the name of the file or folder.
func (r dataRef) base() string { return r.Path[strings.LastIndexAny(r.Path, `/\`)+1:] }

// object returns the name of the archive in the object store.
func (r dataRef) object(sweep string) string { return sweep + ".data." + r.Hash }

// walk calls f for the files of a data set, which is a file or a folder, in lexical order. Names
// begin with the last element of root and have slashes. Symbolic links to files count as files.
func walk(root string, f func(name, path string, info fs.FileInfo) error) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(resolved, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file: data for other machines are files and folders, without devices and links to folders", p)
		}
		rel, err := filepath.Rel(resolved, p)
		if err != nil {
			return err
		}
		return f(path.Join(filepath.Base(root), filepath.ToSlash(rel)), p, info)
	})
}

// treeOf describes a data set by the names and the contents of its files.
func treeOf(ctx context.Context, root string) (dataRef, error) {
	ref, h := dataRef{Path: root}, sha256.New()
	err := walk(root, func(name, p string, _ fs.FileInfo) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		sum, size, err := hashFile(p)
		fmt.Fprintf(h, "%q %d %s\n", name, size, sum)
		ref.Size += size
		return err
	})
	if err != nil {
		return ref, fmt.Errorf("cluster: data %s: %w", root, err)
	}
	ref.Hash = fmt.Sprintf("%x", h.Sum(nil))
	return ref, nil
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), size, err
}

// pack writes a data set as a tar archive.
func pack(w io.Writer, root string) error {
	out := tar.NewWriter(w)
	err := walk(root, func(name, p string, info fs.FileInfo) error {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = io.CopyN(out, f, info.Size())
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// unpack writes the files of an archive to a new folder. Files together may have at most size
// bytes. Anything but regular files below base is an error.
func unpack(r io.Reader, dir, base string, size int64) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cluster: archive: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(h.Name)) || path.Clean(h.Name) != h.Name || h.Name != base && !strings.HasPrefix(h.Name, base+"/") {
			return fmt.Errorf("cluster: archive: %.200q of type %q: expected regular files in %q", h.Name, h.Typeflag, base)
		}
		if size -= h.Size; h.Size < 0 || size < 0 {
			return fmt.Errorf("cluster: archive: larger than announced at %.200q", h.Name)
		}
		p := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return fmt.Errorf("cluster: archive: %w", err)
		}
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return fmt.Errorf("cluster: archive: %w", err)
		}
		_, err = io.Copy(f, in)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("cluster: archive: %w", err)
		}
	}
}

// cache finds the data of a sweep on a worker's machine. It keeps fetched data in a folder until a
// sweep with other data begins.
type cache struct {
	dir   string
	far   bool // do not look at the coordinator's paths; for tests
	sweep string
	paths map[string]string // by hash, of data that were verified in this sweep
}

// begin prepares for a run.
func (c *cache) begin(j *job) error {
	if c.sweep == j.Sweep {
		return nil
	}
	c.sweep, c.paths = j.Sweep, map[string]string{}
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.ContainsFunc(j.Data, func(r dataRef) bool { return r.Hash == e.Name() }) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, e.Name())))
		}
	}
	return err
}

// path returns a path with the data: that of the coordinator's machine if it has the same content
// here, and otherwise one in the folder. fetch writes the data to a new folder.
func (c *cache) path(ctx context.Context, ref dataRef, fetch func(dir string) error) (string, error) {
	own := filepath.Join(c.dir, ref.Hash)
	fetched := filepath.Join(own, ref.base())
	candidates := []string{ref.Path, fetched}
	if c.far {
		candidates = candidates[1:]
	}
	for _, p := range candidates {
		if known := c.paths[ref.Hash]; known != "" {
			return known, nil
		}
		if got, err := treeOf(ctx, p); err == nil && got.Hash == ref.Hash {
			c.paths[ref.Hash] = p
		}
	}
	if known := c.paths[ref.Hash]; known != "" || ctx.Err() != nil {
		return known, ctx.Err()
	}
	if err := errors.Join(os.RemoveAll(own), os.MkdirAll(own, 0o755)); err != nil {
		return "", fmt.Errorf("cluster: data %s: %w", ref.Path, err)
	}
	if err := fetch(own); err != nil {
		return "", err
	}
	got, err := treeOf(ctx, fetched)
	if err != nil {
		return "", err
	}
	if got.Hash != ref.Hash {
		return "", fmt.Errorf("cluster: data %s: the content has the hash %s, expected %s: the data may have changed since the sweep began; start the sweep again", ref.Path, got.Hash, ref.Hash)
	}
	c.paths[ref.Hash] = fetched
	return fetched, nil
}

// putPacked stores a data set as an archive.
func putPacked(ctx context.Context, objects jetstream.ObjectStore, name, root string) error {
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(pack(w, root)) }()
	return putObject(ctx, objects, name, r)
}
