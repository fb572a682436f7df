// Package pth reads and writes the tensors of a PyTorch checkpoint (.pth, .pt): a zip file with a
// pickled dictionary and one file per storage.
//
// The pickle is read as data, and nothing in it is executed. Objects beside the state dict, such as
// the hyper-parameters of Lightning, are skipped. The time to read a file and the memory that it
// takes are proportional to its size.
package pth

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// Bounds of what is read.
const (
	maxFile   = 4 << 30 // bytes of the checkpoint
	maxPickle = 4 << 20 // bytes of its pickle
	maxName   = 256     // bytes of a tensor's name
)

// ErrSafetensors is the error for a safetensors file, which is no PyTorch checkpoint.
var ErrSafetensors = errors.New("a safetensors file (a model file), expected a PyTorch checkpoint")

// Tensor is one entry of the state dict, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
	Count bool // an integer without dimensions, below 2²⁴ as float32 holds it
}

// Load reads a checkpoint from a file. Errors contain the path.
func Load(path string) ([]Tensor, error) {
	f, err := datafile.Open(path)
	if err != nil {
		return nil, err // contains the path
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tensors, err := Parse(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

// Parse returns the tensors of the checkpoint's state dict in the file's order. The state dict may
// be the whole file or the value of "model", "state_dict", "model_state_dict" or "net". A prefix
// "module." of the tensors' names is removed.
func Parse(r io.ReaderAt, size int64) ([]Tensor, error) {
	a, err := openArchive(r, size)
	if err != nil {
		return nil, err
	}
	p, err := a.read("data.pkl")
	if err != nil {
		return nil, err
	}
	root, err := unpickle(p)
	if err != nil {
		return nil, err
	}
	state, err := stateDict(root)
	if err != nil {
		return nil, err
	}
	tensors := make([]Tensor, 0, len(state.items)/2)
	left := 2 * size // tensors may share storages, but a thousand views of one are an attack
	for item := range slices.Chunk(state.items, 2) {
		key, ok := item[0].(string)
		if !ok || len(key) > maxName {
			return nil, fmt.Errorf("state dict: a key is not a string of at most %d bytes", maxName)
		}
		v, ok := item[1].(*view)
		if !ok {
			return nil, fmt.Errorf("state dict: %q is not a tensor", key)
		}
		t, err := v.read(a, &left)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		t.Name = strings.TrimPrefix(key, "module.")
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// stateDict returns the dictionary of tensors.
func stateDict(root any) (*dict, error) {
	d, ok := root.(*dict)
	if !ok {
		return nil, errors.New("no state dict: the pickle is not a dictionary")
	}
	for item := range slices.Chunk(d.items, 2) {
		switch item[0] {
		case "model", "state_dict", "model_state_dict", "net":
			if d, ok = item[1].(*dict); !ok {
				return nil, fmt.Errorf("no state dict: %q is not a dictionary", item[0])
			}
			return d, nil
		}
	}
	return d, nil
}

// archive holds the files of a checkpoint by their names in its folder: data.pkl, byteorder and
// data/KEY for each storage.
type archive struct {
	files    map[string]*zip.File
	storages map[string][]byte // those that were read, by key
}

func openArchive(r io.ReaderAt, size int64) (*archive, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%d bytes, expected at most %d", size, int64(maxFile))
	}
	head := make([]byte, 9)
	n, _ := r.ReadAt(head, 0)
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte{proto}):
		return nil, errors.New("the format before PyTorch 1.6: load the checkpoint in a newer PyTorch and save it again")
	case n == 9 && head[7] == 0 && head[8] == '{': // the length of a header, then the header
		return nil, ErrSafetensors
	case !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, errors.New("not a PyTorch checkpoint: not a zip file")
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("the zip file is damaged or truncated: %w", err)
	}
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return path.Base(f.Name) == "data.pkl" })
	if i < 0 {
		return nil, errors.New("not a PyTorch checkpoint: the zip file has no data.pkl")
	}
	a := &archive{map[string]*zip.File{}, map[string][]byte{}}
	left := uint64(size)
	for _, f := range z.File {
		if f.Method != zip.Store {
			return nil, fmt.Errorf("zip entry %.64q: compressed, expected a stored entry", f.Name)
		}
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("zip entry %.64q: the entries together are larger than the file", f.Name)
		}
		left -= f.UncompressedSize64
		a.files[strings.TrimPrefix(f.Name, strings.TrimSuffix(z.File[i].Name, "data.pkl"))] = f
	}
	if a.files["byteorder"] == nil {
		return a, nil
	}
	order, err := a.read("byteorder")
	if err == nil && string(order) != "little" {
		err = fmt.Errorf("byte order %.16q, expected \"little\"", order)
	}
	return a, err
}

// read returns the bytes of a file, which must exist, and verifies their checksum.
func (a *archive) read(name string) ([]byte, error) {
	f := a.files[name]
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("zip entry %.64q: %w", f.Name, err)
	}
	defer in.Close()
	b := bytes.NewBuffer(make([]byte, 0, f.UncompressedSize64+bytes.MinRead))
	if _, err := b.ReadFrom(in); err != nil {
		return nil, fmt.Errorf("zip entry %.64q: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// storage returns the bytes of a storage.
func (a *archive) storage(key string) ([]byte, error) {
	if b := a.storages[key]; b != nil {
		return b, nil
	}
	if a.files["data/"+key] == nil {
		return nil, fmt.Errorf("storage %.64q is missing from the zip file", key)
	}
	b, err := a.read("data/" + key)
	a.storages[key] = b
	return b, err
}
