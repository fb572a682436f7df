// Package pth reads and writes the tensors of a PyTorch checkpoint (.pth, .pt): a zip file with a
// pickled dictionary and one file per storage. It also reads the tensors of a safetensors file.
//
// The pickle is read as data, and nothing in it is executed. Objects beside the state dict, such as
// the hyper-parameters of Lightning, are skipped. The time to read a file and the memory that it
// takes are proportional to its size.
package pth

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// WayOut says how a checkpoint becomes one that can be read.
const WayOut = `save only the weights of the network in PyTorch: torch.save(net.state_dict(), "net.pth")`

// Bounds of what is read.
const (
	maxFile   = 4 << 30 // bytes of the checkpoint
	maxPickle = 4 << 20 // bytes of its pickle

	// maxSmall is added to eight times the size of a compressed file: what it may contain.
	maxSmall = 16 << 20
)

// Tensor is one entry of the state dict, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
	Count bool // an integer without dimensions, below 2²⁴ as float32 holds it
}

// State is a dictionary of tensors in a checkpoint. A checkpoint may have several, such as the
// weights and their moving average.
type State struct {
	Path     string            // the keys that lead to the dictionary, joined by dots; "": the whole file
	Names    []string          // of the tensors, in the file's order
	Metadata map[string]string // of a safetensors file
	items    []any
}

// Load reads tensors of a checkpoint from a file, in the file's order. choose returns one of the
// state dicts, of which there is at least one, with the names of the tensors to read. Errors
// contain the path.
func Load(path string, choose func(states []State) (State, error)) ([]Tensor, error) {
	f, err := datafile.Open(path)
	if err != nil {
		return nil, err // contains the path
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tensors, err := Parse(f, info.Size(), choose)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

// Parse is Load for the size bytes of a reader.
func Parse(r io.ReaderAt, size int64, choose func(states []State) (State, error)) ([]Tensor, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%d bytes, expected at most %d", size, int64(maxFile))
	}
	head := make([]byte, 9)
	n, _ := r.ReadAt(head, 0)
	if n == 9 && head[7] == 0 && head[8] == '{' { // the length of a header, then the header
		return parseSafetensors(io.NewSectionReader(r, 0, size), choose)
	}
	a, err := openArchive(r, size, head[:n])
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
	return a.choose(root, nil, choose)
}

// choose reads the tensors of one of the state dicts in a value.
func (a *archive) choose(root any, metadata map[string]string, choose func(states []State) (State, error)) ([]Tensor, error) {
	states, err := findStates(root)
	if err != nil {
		return nil, err
	}
	states[0].Metadata = metadata
	state, err := choose(states)
	if err != nil {
		return nil, err
	}
	return a.tensors(state)
}

// maxDepth bounds the keys that lead to a state dict.
const maxDepth = 4

// findStates returns the dictionaries that hold tensors.
func findStates(root any) ([]State, error) {
	if _, ok := root.(*dict); !ok {
		o, _ := root.(object)
		return nil, fmt.Errorf("no state dict: the pickle is a %.64q, expected a dictionary; "+WayOut, cmp.Or(o.class, "tuple or tensor"))
	}
	var states []State
	seen := map[*dict]bool{}
	var visit func(d *dict, path []string)
	visit = func(d *dict, path []string) {
		if seen[d] || len(path) > maxDepth {
			return
		}
		seen[d] = true
		at := len(states)
		states = append(states, State{Path: strings.Join(path, "."), items: d.items})
		for item := range slices.Chunk(d.items, 2) {
			key, ok := item[0].(string)
			_, isTensor := item[1].(*view)
			inner, isDict := item[1].(*dict)
			switch {
			case !ok || !isTensor && !isDict:
			case isTensor:
				states[at].Names = append(states[at].Names, key)
			default:
				visit(inner, append(path[:len(path):len(path)], key))
			}
		}
	}
	visit(root.(*dict), nil)
	states = slices.DeleteFunc(states, func(s State) bool { return len(s.Names) == 0 })
	if len(states) == 0 {
		return nil, errors.New("no state dict: no dictionary in the file has tensors; " + WayOut)
	}
	return states, nil
}

// tensors reads the tensors of a state dict that it names.
func (a *archive) tensors(state State) ([]Tensor, error) {
	wanted := map[string]bool{}
	for _, name := range state.Names {
		wanted[name] = true
	}
	var tensors []Tensor
	left := 2 * a.size // tensors may share storages, but a thousand views of one are an attack
	for item := range slices.Chunk(state.items, 2) {
		key, _ := item[0].(string)
		v, ok := item[1].(*view)
		if !ok || !wanted[key] {
			continue
		}
		t, err := v.read(a, &left)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		t.Name = key
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// archive holds the files of a checkpoint by their names in its folder: data.pkl, byteorder and
// data/KEY for each storage.
type archive struct {
	files    map[string]*zip.File
	storages map[string][]byte // those that were read, by key
	size     int64             // of the files together, which are not compressed
}

// openArchive opens a zip file that begins with head.
func openArchive(r io.ReaderAt, size int64, head []byte) (*archive, error) {
	switch {
	case bytes.HasPrefix(head, []byte{proto}) && !bytes.HasPrefix(head, []byte("\x80\x02\x8a\nl\xfc\x9cF")):
		return nil, errors.New("a pickle that torch.save has not written, such as one of NumPy; " + WayOut)
	case bytes.HasPrefix(head, []byte{proto}):
		return nil, errors.New("the format before PyTorch 1.6: load the checkpoint in a newer PyTorch and save it again")
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
	a := &archive{files: map[string]*zip.File{}, storages: map[string][]byte{}}
	left := uint64(size)
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Method == zip.Deflate }) {
		left = 8*left + maxSmall
	}
	for _, f := range z.File {
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("zip entry %.64q: the entries together are too large for a file of %d bytes", f.Name, size)
		}
		left -= f.UncompressedSize64
		a.size += int64(f.UncompressedSize64)
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
	b, err := io.ReadAll(in)
	if err != nil {
		err = fmt.Errorf("zip entry %.64q: %w", f.Name, err)
	}
	return b, err
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
