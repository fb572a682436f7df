// Package pth reads the tensors of a PyTorch checkpoint (.pth, .pt): a zip file with a pickled dictionary and
// one file per storage.
//
// The pickle is data. Its opcodes are checked before it is read, only the few names that a state dict needs are
// known, and every size it declares is compared with the bytes that are there before anything is allocated.
package pth

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// Bounds of what is read.
const (
	maxPickle = 16 << 20 // bytes of data.pkl
	maxFile   = 4 << 30  // bytes of the checkpoint
)

// Tensor is one entry of the state dict, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Load returns the tensors of the checkpoint's state dict in the file's order. The state dict may be the whole
// file or stand under "model", "state_dict", "model_state_dict" or "net"; a prefix "module." is dropped.
func Load(name string) ([]Tensor, error) {
	tensors, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tensors, nil
}

func load(name string) (tensors []Tensor, err error) {
	b, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	a, err := openArchive(b)
	if err != nil {
		return nil, err
	}
	defer func() { // gopickle panics on some malformed pickles
		if v := recover(); v != nil {
			tensors, err = nil, fmt.Errorf("malformed pickle: %v", v)
		}
	}()
	root, err := a.unpickle()
	if err != nil {
		return nil, err
	}
	dict, err := stateDict(root)
	if err != nil {
		return nil, err
	}
	for _, e := range dict {
		key, ok := e.Key.(string)
		if !ok {
			return nil, fmt.Errorf("state dict: key %v is no text", e.Key)
		}
		ref, ok := e.Value.(*tensorRef)
		if !ok {
			return nil, fmt.Errorf("state dict: %q is no tensor", key)
		}
		t, err := ref.read()
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		t.Name = strings.TrimPrefix(key, "module.")
		tensors = append(tensors, t)
	}
	return tensors, nil
}

func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%d bytes: checkpoints of up to %d are read", info.Size(), int64(maxFile))
	}
	return os.ReadFile(name)
}

// archive is the zip file: the pickle and the storages by key.
type archive struct {
	pickle   []byte
	storages map[string]*zip.File
}

func openArchive(b []byte) (*archive, error) {
	if !bytes.HasPrefix(b, []byte("PK\x03\x04")) {
		if bytes.HasPrefix(b, []byte{0x80}) {
			return nil, fmt.Errorf("a checkpoint in PyTorch's format before 1.6: load and save it again there")
		}
		return nil, fmt.Errorf("no PyTorch checkpoint: not a zip file")
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("the zip file is damaged or cut short: %w", err)
	}
	a := &archive{storages: map[string]*zip.File{}}
	for _, f := range z.File {
		if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 || f.UncompressedSize64 > uint64(len(b)) {
			return nil, fmt.Errorf("zip entry %q: compressed, or larger than the file", f.Name)
		}
		dir, base := path.Split(f.Name)
		switch {
		case base == "data.pkl":
			if f.UncompressedSize64 > maxPickle {
				return nil, fmt.Errorf("zip entry %q: %d bytes, want at most %d", f.Name, f.UncompressedSize64, maxPickle)
			}
			if a.pickle, err = readEntry(f); err != nil {
				return nil, err
			}
		case base == "byteorder":
			order, err := readEntry(f)
			if err != nil {
				return nil, err
			}
			if string(order) != "little" {
				return nil, fmt.Errorf("zip entry %q: byte order %q, want little", f.Name, order[:min(len(order), 16)])
			}
		case path.Base(dir) == "data":
			a.storages[base] = f
		}
	}
	if a.pickle == nil {
		return nil, fmt.Errorf("no PyTorch checkpoint: the zip file has no data.pkl")
	}
	return a, nil
}

// readEntry reads a stored zip entry and checks its sum.
func readEntry(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("zip entry %q: %w", f.Name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("zip entry %q: %w", f.Name, err)
	}
	return b, nil
}

// unpickle runs the checked pickle; tensors come out as references.
func (a *archive) unpickle() (any, error) {
	if err := checkOpcodes(a.pickle); err != nil {
		return nil, err
	}
	u := pickle.NewUnpickler(bytes.NewReader(a.pickle))
	u.FindClass = findClass
	u.PersistentLoad = a.storage
	return u.Load()
}

// widths are the bytes per element of the storages that hold floats.
var widths = map[string]int{"FloatStorage": 4, "DoubleStorage": 8}

// storageType is what the pickle's name of a storage class stands for.
type storageType string

// findClass knows the names that a state dict needs; collections.OrderedDict is the unpickler's own.
func findClass(module, name string) (any, error) {
	switch {
	case module == "torch._utils" && name == "_rebuild_tensor_v2":
		return rebuildTensor{}, nil
	case module == "torch" && widths[name] != 0:
		return storageType(name), nil
	}
	return nil, fmt.Errorf("%s.%s is not read: only float tensors in plain dictionaries are", module, name)
}

// storageRef is one storage: its file, not yet read.
type storageRef struct {
	file  *zip.File
	count int // elements
	width int // bytes an element
}

// storage resolves ("storage", type, key, device, count).
func (a *archive) storage(id any) (any, error) {
	t, ok := id.(*types.Tuple)
	if !ok || t.Len() < 5 {
		return nil, fmt.Errorf("malformed storage")
	}
	class, ok1 := t.Get(1).(storageType)
	key, ok2 := t.Get(2).(string)
	count, ok3 := t.Get(4).(int)
	if t.Get(0) != "storage" || !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("malformed storage")
	}
	f := a.storages[key]
	if f == nil {
		return nil, fmt.Errorf("storage %q is missing", key)
	}
	width := widths[string(class)]
	if count < 0 || uint64(count) > f.UncompressedSize64 || uint64(count*width) != f.UncompressedSize64 {
		return nil, fmt.Errorf("storage %q: %d elements of %d bytes declared, %d bytes there", key, count, width, f.UncompressedSize64)
	}
	return &storageRef{file: f, count: count, width: width}, nil
}

// tensorRef is a tensor whose values are not yet read.
type tensorRef struct {
	storage *storageRef
	offset  int
	shape   []int
	stride  []int
}

// rebuildTensor stands for torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …).
type rebuildTensor struct{}

// Call implements types.Callable.
func (rebuildTensor) Call(args ...any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("malformed tensor")
	}
	s, ok1 := args[0].(*storageRef)
	offset, ok2 := args[1].(int)
	shape, ok3 := ints(args[2])
	stride, ok4 := ints(args[3])
	if !ok1 || !ok2 || !ok3 || !ok4 || len(shape) != len(stride) || len(shape) > 8 {
		return nil, fmt.Errorf("malformed tensor")
	}
	t := &tensorRef{storage: s, offset: offset, shape: shape, stride: stride}
	return t, t.check()
}

func ints(v any) ([]int, bool) {
	t, ok := v.(*types.Tuple)
	if !ok {
		return nil, false
	}
	list := make([]int, t.Len())
	for i := range list {
		if list[i], ok = t.Get(i).(int); !ok || list[i] < 0 || list[i] > math.MaxInt32 {
			return nil, false
		}
	}
	return list, true
}

// check requires a contiguous tensor that lies inside its storage.
func (t *tensorRef) check() error {
	size := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.stride[i] != size {
			return fmt.Errorf("tensor of shape %v with strides %v is not contiguous", t.shape, t.stride)
		}
		size *= t.shape[i]
		if size > t.storage.count {
			break
		}
	}
	if t.offset < 0 || t.offset > t.storage.count || size > t.storage.count-t.offset {
		return fmt.Errorf("tensor of shape %v at %d lies outside its storage of %d", t.shape, t.offset, t.storage.count)
	}
	return nil
}

func (t *tensorRef) read() (Tensor, error) {
	b, err := readEntry(t.storage.file)
	if err != nil {
		return Tensor{}, err
	}
	size := 1
	for _, d := range t.shape {
		size *= d
	}
	out := Tensor{Shape: t.shape, Data: make([]float32, size)}
	for i := range out.Data {
		at := (t.offset + i) * t.storage.width
		if t.storage.width == 8 {
			out.Data[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[at:])))
		} else {
			out.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
		}
	}
	return out, nil
}

// stateDict finds the dictionary of tensors.
func stateDict(root any) ([]types.DictEntry, error) {
	dict, err := entries(root)
	if err != nil {
		return nil, err
	}
	for _, e := range dict {
		switch e.Key {
		case "model", "state_dict", "model_state_dict", "net":
			return entries(e.Value)
		}
	}
	return dict, nil
}

func entries(v any) ([]types.DictEntry, error) {
	switch d := v.(type) {
	case *types.Dict:
		return *d, nil
	case *types.OrderedDict:
		var list []types.DictEntry
		for e := d.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			list = append(list, types.DictEntry{Key: entry.Key, Value: entry.Value})
		}
		return list, nil
	}
	return nil, fmt.Errorf("no state dict: the file holds a %T", v)
}
