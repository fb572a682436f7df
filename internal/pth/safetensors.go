package pth

import (
	"io"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// classes are the storage classes with the elements of the types of safetensors files.
var classes = map[string]string{
	"F32": "FloatStorage", "F64": "DoubleStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage", "I64": longs, "C64": "ComplexFloatStorage",
}

// parseSafetensors is Parse for a safetensors file, in the order of the tensors' bytes: each is a
// view of a storage of its own.
func parseSafetensors(r io.Reader, choose func(states []State) (State, error)) ([]Tensor, error) {
	file, err := safetensors.ReadAny(r, func(dtype string) int { return elements[classes[dtype]].width })
	if err != nil {
		return nil, err
	}
	a := &archive{storages: map[string][]byte{}}
	items := &dict{}
	for _, x := range file.Arrays {
		a.storages[x.Name] = x.Raw
		a.size += int64(len(x.Raw))
		s := storage{classes[x.DType], x.Name, len(x.Raw) / elements[classes[x.DType]].width}
		items.items = append(items.items, x.Name, &view{storage: s, shape: x.Shape, stride: strides(x.Shape)})
	}
	return a.choose(items, file.Metadata, choose)
}

// strides returns the strides of a row-major array.
func strides(shape []int) []int {
	list := make([]int, len(shape))
	for axis, stride := len(shape)-1, 1; axis >= 0; axis-- {
		list[axis] = stride
		stride *= shape[axis]
	}
	return list
}
