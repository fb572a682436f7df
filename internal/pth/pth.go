// Package pth reads and writes the tensors of a PyTorch checkpoint (.pth, .pt): a zip file with a
// pickled dictionary and one file per storage.
//
// The pickle is treated as data that may be hostile. Before it is decoded, every opcode, name and
// length in it is checked. Every declared size is compared with the bytes that are present before
// memory is allocated. Objects beside the state dict, such as the hyper-parameters of Lightning,
// are skipped. Nothing is executed.
package pth

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// Bounds of what is read.
const (
	maxFile = 4 << 30 // bytes of the checkpoint
	maxName = 256     // bytes of a tensor's name
)

// Tensor is one entry of the state dict, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
	Count bool // an integer without dimensions, below 2²⁴ as float32 holds it
}

// Load reads a checkpoint from a file. Errors contain the path.
func Load(path string) ([]Tensor, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err // contains the path
	}
	tensors, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: %d bytes, expected at most %d", path, info.Size(), int64(maxFile))
	}
	return os.ReadFile(path)
}

// Parse returns the tensors of the checkpoint's state dict in the file's order. The state dict may
// be the whole file or the value of "model", "state_dict", "model_state_dict" or "net". A prefix
// "module." of the tensors' names is removed.
func Parse(b []byte) ([]Tensor, error) {
	a, err := openArchive(b)
	if err != nil {
		return nil, err
	}
	root, err := a.unpickle()
	if err != nil {
		return nil, err
	}
	dict, err := stateDict(root)
	if err != nil {
		return nil, err
	}
	tensors := make([]Tensor, 0, len(dict))
	left := 2 * len(b) // tensors may share storages, but a thousand views of one are an attack
	for _, e := range dict {
		key, ok := e.Key.(string)
		if !ok || len(key) > maxName {
			return nil, fmt.Errorf("state dict: a key is not a string of at most %d bytes", maxName)
		}
		ref, ok := e.Value.(*tensorRef)
		if !ok {
			return nil, fmt.Errorf("state dict: %q is not a tensor", key)
		}
		if err := ref.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		if left -= ref.size() * ref.storage.width; left < 0 {
			return nil, fmt.Errorf("tensor %q: the tensors together are more than twice as large as the file", key)
		}
		shape, data, err := ref.read()
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		tensors = append(tensors, Tensor{Name: strings.TrimPrefix(key, "module."), Shape: shape, Data: data, Count: ref.storage.class == "LongStorage"})
	}
	return tensors, nil
}

// unpickle decodes the checked pickle. Tensors become references.
func (a *archive) unpickle() (root any, err error) {
	if err := checkPickle(a.pickle); err != nil {
		return nil, err
	}
	defer func() { // gopickle panics on some malformed pickles
		if v := recover(); v != nil {
			root, err = nil, malformed(fmt.Sprint(v))
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(a.pickle))
	u.FindClass = findClass
	u.PersistentLoad = a.storage
	root, err = u.Load()
	if err != nil {
		return nil, malformed(err.Error())
	}
	return root, nil
}

// malformed truncates gopickle's messages, which may contain whole objects.
func malformed(message string) error { return fmt.Errorf("malformed pickle: %.200s", message) }

// stateDict returns the dictionary of tensors.
func stateDict(root any) ([]types.DictEntry, error) {
	dict, ok := entries(root)
	if !ok {
		return nil, fmt.Errorf("no state dict: the pickle is not a dictionary")
	}
	for _, e := range dict {
		switch e.Key {
		case "model", "state_dict", "model_state_dict", "net":
			if dict, ok = entries(e.Value); !ok {
				return nil, fmt.Errorf("no state dict: %q is not a dictionary", e.Key)
			}
			return dict, nil
		}
	}
	return dict, nil
}

func entries(v any) ([]types.DictEntry, bool) {
	switch d := v.(type) {
	case *types.Dict:
		return *d, true
	case *types.OrderedDict:
		list := make([]types.DictEntry, 0, d.Len())
		for e := d.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			list = append(list, types.DictEntry{Key: entry.Key, Value: entry.Value})
		}
		return list, true
	}
	return nil, false
}
