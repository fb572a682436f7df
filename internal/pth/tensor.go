package pth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// element describes the elements of a storage: their bytes, and the real numbers in them.
type element struct {
	width, parts int
	value        func(b []byte) float32
}

func single(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
func double(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
func count(b []byte) float32  { return float32(int64(binary.LittleEndian.Uint64(b))) }
func brain(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// Half returns the number in a float16, little-endian.
func Half(b []byte) float32 {
	h := uint32(binary.LittleEndian.Uint16(b))
	sign, exponent, digits := h>>15<<31, h>>10&31, h&1023
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(digits)*0x1p-24))
	case 31:
		exponent = 255 - 112 // infinity, or no number
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | digits<<13)
}

// longs is the class of counts among the buffers, which have no dimensions.
const longs = "LongStorage"

// elements are the storage classes that the tensors of a state dict may have.
var elements = map[string]element{
	"FloatStorage": {4, 1, single}, "DoubleStorage": {8, 1, double}, longs: {8, 1, count},
	"HalfStorage": {2, 1, Half}, "BFloat16Storage": {2, 1, brain},
	"ComplexFloatStorage": {8, 2, single}, "ComplexDoubleStorage": {16, 2, double},
}

// newView returns the tensor with the arguments of _rebuild_tensor_v2.
func newView(args tuple) *view {
	if len(args) < 6 || len(args) > 7 {
		fail("a tensor is described by %d values, expected 6 or 7", len(args))
	}
	v := &view{storage: args[0].(storage), offset: args[1].(int), shape: sizes(args[2]), stride: sizes(args[3])}
	if len(v.shape) != len(v.stride) {
		fail("a tensor with the shape %v has the strides %v", v.shape, v.stride)
	}
	if len(args) == 6 || args[6] == nil {
		return v
	}
	for bit := range slices.Chunk(args[6].(*dict).items, 2) {
		set, ok := bit[1].(bool)
		switch {
		case ok && bit[0] == "conj":
			v.conj = set
		case ok && bit[0] == "neg":
			v.neg = set
		default:
			fail("metadata of a tensor: %.64q, expected \"conj\" or \"neg\", true or false", fmt.Sprint(bit[0]))
		}
	}
	return v
}

// view is a tensor: a part of a storage.
type view struct {
	storage
	offset        int
	shape, stride []int
	conj, neg     bool // the values are the conjugates, the negatives of those in the storage
}

// maxRank bounds a tensor's dimensions.
const maxRank = 8

// sizes returns the numbers in a tuple.
func sizes(v any) []int {
	list := make([]int, len(v.(tuple)))
	for i, n := range v.(tuple) {
		if list[i] = n.(int); list[i] < 0 || len(list) > maxRank { // of at most 32 bits
			fail("a tensor with the sizes or strides %.80v", v)
		}
	}
	return list
}

// size returns the number of elements, or an error unless all lie inside the storage and it has at
// least as many.
func (v *view) size() (int, error) {
	size, last := int64(1), int64(v.offset)
	inside := v.offset >= 0
	for i, n := range v.shape {
		if n == 0 {
			return 0, nil
		}
		if inside { // both fit in 64 bits, as neither exceeds the storage before
			size *= int64(n)
			last += int64(n-1) * int64(v.stride[i])
			inside = size <= int64(v.count) && last < int64(v.count)
		}
	}
	if !inside || last >= int64(v.count) {
		return 0, fmt.Errorf("shape %v with strides %v at %d lies outside its storage of %d", v.shape, v.stride, v.offset, v.count)
	}
	return int(size), nil
}

// read returns the values in single precision, row-major. Complex values become pairs in an
// additional last dimension. It subtracts the bytes of the values from left.
func (v *view) read(a *archive, left *int64) (Tensor, error) {
	e, ok := elements[v.class]
	if !ok || v.class == longs && len(v.shape) > 0 {
		return Tensor{}, fmt.Errorf("type %.64s, expected floating-point numbers (FloatStorage, DoubleStorage, HalfStorage, …), or LongStorage without dimensions", v.class)
	}
	size, err := v.size()
	if err != nil {
		return Tensor{}, err
	}
	if *left -= int64(size * e.width); *left < 0 {
		return Tensor{}, errors.New("the tensors together are more than twice as large as the file")
	}
	b, err := a.storage(v.key)
	if err != nil {
		return Tensor{}, err
	}
	if int64(v.count)*int64(e.width) != int64(len(b)) {
		return Tensor{}, fmt.Errorf("storage %.64q: %d elements of %d bytes declared, the file has %d bytes", v.key, v.count, e.width, len(b))
	}
	t := Tensor{Shape: v.shape, Data: make([]float32, 0, e.parts*size), Count: v.class == longs}
	if e.parts > 1 {
		t.Shape = append(slices.Clone(v.shape), e.parts)
	}
	for i := range v.positions(size) {
		for part := range e.parts {
			x := e.value(b[i*e.width+part*e.width/e.parts:])
			if v.neg != (v.conj && part == 1) {
				x = -x
			}
			t.Data = append(t.Data, x)
		}
	}
	return t, nil
}

// positions yields the places of the elements in the storage, the last index fastest.
func (v *view) positions(size int) func(yield func(i int) bool) {
	return func(yield func(i int) bool) {
		index, place := make([]int, len(v.shape)), v.offset
		for range size {
			if !yield(place) {
				return
			}
			for axis := len(index) - 1; axis >= 0; axis-- {
				index[axis]++
				place += v.stride[axis]
				if index[axis] < v.shape[axis] {
					break
				}
				place -= index[axis] * v.stride[axis]
				index[axis] = 0
			}
		}
	}
}
