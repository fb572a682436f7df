package studio

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/model"
)

// rootFS is the file system of a folder. No path in it leads out of the folder. Files are written
// in place of symbolic links, and not to where they lead.
type rootFS struct{ *os.Root }

func (r rootFS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	f, err := r.Root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File in a File
	}
	return f, nil
}

// ReadDir returns what is in a folder, in the order of the names.
func (r rootFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS(), name) }

func (r rootFS) Follow(name string) (string, error) { return name, nil }

// write writes a file of the project whole or not at all.
func (p *project) write(name string, content io.Reader) error {
	return p.disk.Replace(name, 0o666, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}

// remove removes a file of the project. It stays removed after a power cut.
func (p *project) remove(name string) error {
	if err := p.disk.Remove(name); err != nil {
		return err
	}
	return p.disk.SyncFolder(filepath.Dir(name))
}

// unlessGone returns nil if the error is that a file does not exist: another request or program
// has removed it.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (p *project) writeWAV(name string, x []float32) error {
	return p.disk.Replace(name, 0o666, func(w io.Writer) error { return audio.WriteWAV(w, rate, x) })
}

// modelFile reads the model file, and returns its hash.
func (p *project) modelFile() (file []byte, hash string, err error) {
	file, err = p.disk.ReadFile(modelFile, maxModel)
	return file, fmt.Sprintf("%x", sha256.Sum256(file)), err
}

func (p *project) model() (*model.Model, error) {
	f, err := p.disk.Open(modelFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(http.StatusConflict, "project %q has no detector yet: train one", p.name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := model.Read(f)
	if err != nil {
		return nil, fail(http.StatusConflict, "%s of project %q: %v; train it again from another model", modelFile, p.name, err)
	}
	return m, nil
}
