package cluster

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxEntries bounds the number of files in a data set.
const maxEntries = 1 << 23

// block is the unit of archives in bytes.
const block = 512

// walk calls f for the files of a data set, which is a file or a folder, in lexical order. Names
// begin with the last element of root and have slashes. Symbolic links to files count as files.
func walk(root string, f func(name, path string, info fs.FileInfo) error) error {
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	base, n := filepath.Base(root), 0
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
		if n++; n > maxEntries {
			return fmt.Errorf("%s has more than %d files", root, maxEntries)
		}
		rel, err := filepath.Rel(resolved, p)
		if err != nil {
			return err
		}
		return f(path.Join(base, filepath.ToSlash(rel)), p, info)
	})
}

// treeOf describes a data set by the names and the contents of its files. The size is that of the
// archive that pack writes, at most. A data set larger than limit is an error. step
// is called before each read and ends treeOf with its error; nil: none.
func treeOf(root string, limit int64, step func() error) (dataRef, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return dataRef{}, fmt.Errorf("cluster: data %s: %w", root, err)
	}
	ref, h := dataRef{Path: root}, sha256.New()
	err = walk(abs, func(name, p string, info fs.FileInfo) error {
		if info.Size() > limit-ref.Size {
			return fmt.Errorf("larger than %d bytes", limit)
		}
		content, err := hashFile(func() (io.ReadCloser, error) { return os.Open(p) }, step)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %d %s\n", name, content.Size, content.SHA256)
		ref.Size += content.Size + 4*block
		return nil
	})
	if err != nil {
		return ref, fmt.Errorf("cluster: data %s: %w", root, err)
	}
	ref.Hash = fmt.Sprintf("%x", h.Sum(nil))
	return ref, nil
}

// pack writes a data set as a tar archive.
func pack(w io.Writer, root string) error {
	out := tar.NewWriter(w)
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	err = walk(abs, func(name, p string, info fs.FileInfo) error {
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

// unpack writes the files of an archive to a folder, which must be new. Files together may have at
// most size bytes. Anything but regular files below base is an error.
func unpack(r io.Reader, dir, base string, size int64) error {
	in := tar.NewReader(r)
	for n := 0; ; n++ {
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
		if size -= h.Size; h.Size < 0 || size < 0 || n >= maxEntries {
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
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return fmt.Errorf("cluster: archive: %w", err)
		}
	}
}
