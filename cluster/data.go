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
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// dataRef is a file or a folder of the data.
type dataRef struct {
	Path string `json:"path"` // on the coordinator's machine
	Hash string `json:"hash"` // SHA-256 of the archive (pack)
}

// base returns the name of the file or folder.
func (r dataRef) base() string { return r.Path[strings.LastIndexAny(r.Path, `/\`)+1:] }

// object returns the name of the archive in the object store.
func (r dataRef) object(sweep string) string { return sweep + ".data." + r.Hash }

// at reports whether a path has the data.
func (r dataRef) at(path string) bool {
	got, err := describe(path)
	return err == nil && got.Hash == r.Hash
}

// describe returns the reference of a data set.
func describe(root string) (dataRef, error) {
	h := sha256.New()
	err := pack(h, root)
	return dataRef{root, fmt.Sprintf("%x", h.Sum(nil))}, err
}

// pack writes a data set, which is a file or a folder, as a tar archive, whose bytes are the same
// on every machine. Names begin with the last element of root. Symbolic links to files count as
// files.
func pack(w io.Writer, root string) error {
	out := tar.NewWriter(w)
	root, err := filepath.Abs(root)
	resolved := root
	if err == nil {
		resolved, err = filepath.EvalSymlinks(root)
	}
	if err == nil {
		err = filepath.WalkDir(resolved, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return packFile(out, p, path.Join(filepath.Base(root), filepath.ToSlash(strings.TrimPrefix(p, resolved))))
		})
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("cluster: data %s: %w", root, err)
	}
	return nil
}

func packFile(out *tar.Writer, p, name string) error {
	info, err := os.Stat(p)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: data for other machines are files and folders, without devices and links to folders", p)
	}
	in, err := os.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(out, in, info.Size())
	return err
}

// unpack writes the files of an archive to a new folder. A file outside of it is an error.
func unpack(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// cache finds the data of runs on a worker's machine, and keeps fetched data in a folder.
type cache struct {
	dir   string
	paths map[string]string // by hash, of data that were verified by this process
}

// path returns a path with the data: that of the coordinator's machine if it has the same content
// here, and otherwise one in the folder. fetch writes the data to a new folder.
func (c *cache) path(ref dataRef, fetch func(dir string) error) (string, error) {
	if known := c.paths[ref.Hash]; known != "" {
		return known, nil
	}
	own := filepath.Join(c.dir, ref.Hash)
	p := ref.Path
	if !ref.at(p) {
		p = filepath.Join(own, ref.base())
	}
	if p != ref.Path && !ref.at(p) {
		err := errors.Join(os.RemoveAll(own), os.MkdirAll(own, 0o755))
		if err == nil {
			err = fetch(own)
		}
		if err == nil && !ref.at(p) {
			err = errors.New("another content than when the sweep began: start the sweep again")
		}
		if err != nil {
			return "", fmt.Errorf("cluster: data %s: %w", ref.Path, err)
		}
	}
	c.paths[ref.Hash] = p
	return p, nil
}

// putPacked stores a data set as an archive.
func putPacked(ctx context.Context, objects jetstream.ObjectStore, name, root string) error {
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(pack(w, root)) }()
	_, err := objects.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
	return err
}
