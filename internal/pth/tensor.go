package pth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nlpodyssey/gopickle/types"
)

// widths are the element sizes in bytes of the known storage classes of module torch. All may occur
// in a file. The tensors of the state dict must have one of those that read supports.
var widths = map[string]int{
	"FloatStorage": 4, "DoubleStorage": 8, "HalfStorage": 2, "BFloat16Storage": 2, "LongStorage": 8,
	"IntStorage": 4, "ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1,
	"ComplexFloatStorage": 8, "ComplexDoubleStorage": 16,
}

// known reports whether a global name may occur in the pickle of a checkpoint.
func known(module, name string) bool {
	switch module {
	case "collections":
		return name == "OrderedDict" || foreign(module, name)
	case "torch._utils":
		return name == "_rebuild_tensor_v2" || name == "_rebuild_parameter"
	case "torch":
		return widths[name] != 0
	}
	return foreign(module, name)
}

// foreign reports whether a global name may occur beside the state dict, in the hyper-parameters
// that Lightning stores. The values that it creates are opaque.
func foreign(module, name string) bool {
	switch module {
	case "collections":
		return name == "defaultdict"
	case "typing":
		return name == "Any"
	case "__builtin__", "builtins":
		return slices.Contains([]string{"dict", "list", "int", "long", "float", "str", "bool"}, name)
	}
	return module == "omegaconf" || strings.HasPrefix(module, "omegaconf.")
}

// opaque stands for a foreign class and for its objects. It ignores arguments, states and items.
type opaque struct{}

// Call implements types.Callable.
func (opaque) Call(...any) (any, error) { return opaque{}, nil }

// PyNew implements types.PyNewable.
func (opaque) PyNew(...any) (any, error) { return opaque{}, nil }

// PySetState implements types.PyStateSettable.
func (opaque) PySetState(any) error { return nil }

// Set implements types.DictSetter.
func (opaque) Set(key, value any) {}

// Append implements types.ListAppender.
func (opaque) Append(any) {}

// storageType is the name of a storage class.
type storageType string

// findClass resolves the known names. gopickle itself resolves collections.OrderedDict.
func findClass(module, name string) (any, error) {
	switch {
	case !known(module, name):
		return nil, fmt.Errorf("%s.%s is not known", module, name)
	case foreign(module, name):
		return opaque{}, nil
	case module == "torch":
		return storageType(name), nil
	case name == "_rebuild_parameter":
		return rebuildParameter{}, nil
	}
	return rebuildTensor{}, nil
}

// storageRef is a storage whose bytes have not been read yet.
type storageRef struct {
	class string
	width int // bytes per element
	count int // elements
	data  []byte
}

// GoString keeps the bytes out of gopickle's error messages.
func (s *storageRef) GoString() string { return s.class }

// storage resolves ("storage", type, key, device, count).
func (a *archive) storage(id any) (any, error) {
	t, ok := id.(*types.Tuple)
	if !ok || t.Len() < 5 {
		return nil, fmt.Errorf("a storage must be described by five values")
	}
	class, ok1 := t.Get(1).(storageType)
	key, ok2 := t.Get(2).(string)
	count, ok3 := t.Get(4).(int)
	if t.Get(0) != "storage" || !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("a storage must be described by type, key, device and count")
	}
	data, width := a.storages[key], widths[string(class)]
	if data == nil {
		return nil, fmt.Errorf("storage %.64q is missing from the zip file", key)
	}
	if count < 0 || count > len(data) || count*width != len(data) {
		return nil, fmt.Errorf("storage %q: %d elements of %d bytes declared, the file has %d bytes", key, count, width, len(data))
	}
	return &storageRef{class: string(class), width: width, count: count, data: data}, nil
}

// tensorRef is a tensor as described by the pickle, not yet checked or read.
type tensorRef struct {
	storage *storageRef
	offset  int
	shape   []int
	stride  []int
}

// rebuildTensor implements torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …).
type rebuildTensor struct{}

// Call implements types.Callable.
func (rebuildTensor) Call(args ...any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("a tensor is described by %d values, expected at least 4", len(args))
	}
	s, ok1 := args[0].(*storageRef)
	offset, ok2 := args[1].(int)
	shape, ok3 := ints(args[2])
	stride, ok4 := ints(args[3])
	if !ok1 || !ok2 || !ok3 || !ok4 || len(shape) != len(stride) {
		return nil, fmt.Errorf("a tensor must be described by storage, offset, size and stride")
	}
	return &tensorRef{storage: s, offset: offset, shape: shape, stride: stride}, nil
}

// rebuildParameter implements torch._utils._rebuild_parameter(tensor, requires grad, hooks).
type rebuildParameter struct{}

// Call implements types.Callable.
func (rebuildParameter) Call(args ...any) (any, error) {
	if len(args) < 1 {
		return nil, errors.New("a parameter without a tensor")
	}
	t, ok := args[0].(*tensorRef)
	if !ok {
		return nil, errors.New("a parameter must be made of a tensor")
	}
	return t, nil
}

// maxRank bounds a tensor's dimensions.
const maxRank = 8

func ints(v any) ([]int, bool) {
	t, ok := v.(*types.Tuple)
	if !ok || t.Len() > maxRank {
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

// check returns an error unless the tensor lies inside its storage and has at most as many
// elements.
func (t *tensorRef) check() error {
	size, last := 1, t.offset
	for i, n := range t.shape {
		if n == 0 {
			size, last = 0, t.offset
			break
		}
		if size > t.storage.count/n || t.stride[i] > 0 && n-1 > (t.storage.count-last)/t.stride[i] {
			size = t.storage.count + 1 // further factors could overflow
			break
		}
		size *= n
		last += (n - 1) * t.stride[i]
	}
	if t.offset < 0 || size > t.storage.count || size > 0 && last >= t.storage.count {
		return fmt.Errorf("shape %v with strides %v at %d lies outside its storage of %d", t.shape, t.stride, t.offset, t.storage.count)
	}
	return nil
}

// size returns the number of elements.
func (t *tensorRef) size() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// read returns the values in single precision, row-major. Complex values become pairs in an
// additional last dimension. Integers are read from tensors without dimensions only.
func (t *tensorRef) read() (shape []int, values []float32, err error) {
	b, single := t.storage.data, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	double := func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	shape = t.shape
	parts := 1
	if strings.HasPrefix(t.storage.class, "Complex") {
		shape, parts = append(slices.Clone(shape), 2), 2
	}
	values = make([]float32, 0, parts*t.size())
	class := t.storage.class
	if class == "LongStorage" && len(shape) == 0 { // a count among the buffers
		return shape, append(values, float32(int64(binary.LittleEndian.Uint64(b[8*t.offset:])))), nil
	}
	switch class {
	case "FloatStorage":
		t.each(func(i int) { values = append(values, single(b[4*i:])) })
	case "DoubleStorage":
		t.each(func(i int) { values = append(values, double(b[8*i:])) })
	case "ComplexFloatStorage":
		t.each(func(i int) { values = append(values, single(b[8*i:]), single(b[8*i+4:])) })
	case "ComplexDoubleStorage":
		t.each(func(i int) { values = append(values, double(b[16*i:]), double(b[16*i+8:])) })
	default:
		return nil, nil, fmt.Errorf("type %s, expected FloatStorage, DoubleStorage, ComplexFloatStorage or ComplexDoubleStorage, or LongStorage without dimensions", class)
	}
	return shape, values, nil
}

// each calls visit with the position of every element in the storage, the last index fastest.
func (t *tensorRef) each(visit func(i int)) {
	at := make([]int, len(t.shape))
	place := t.offset
	for range t.size() {
		visit(place)
		for axis := len(at) - 1; axis >= 0; axis-- {
			at[axis]++
			place += t.stride[axis]
			if at[axis] < t.shape[axis] {
				break
			}
			place -= at[axis] * t.stride[axis]
			at[axis] = 0
		}
	}
}
