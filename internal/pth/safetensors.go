package pth

import (
	"errors"
	"fmt"
	"io"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// dtypes are the types of safetensors files, by the storage classes with the same elements.
var dtypes = map[string]element{
	"F32": elements["FloatStorage"], "F64": elements["DoubleStorage"], "F16": elements["HalfStorage"],
	"BF16": elements["BFloat16Storage"], "I64": elements[longs], "C64": elements["ComplexFloatStorage"],
}

// parseSafetensors is Parse for a safetensors file, in the order of the tensors' bytes.
func parseSafetensors(r io.Reader, choose func(states []State) (State, error)) ([]Tensor, error) {
	file, err := safetensors.ReadAny(r, func(dtype string) int { return dtypes[dtype].width })
	if err != nil {
		return nil, err
	}
	state := State{Metadata: file.Metadata}
	for _, a := range file.Arrays {
		state.Names = append(state.Names, a.Name)
	}
	if len(state.Names) == 0 {
		return nil, errors.New("the file has no tensors")
	}
	if state, err = choose([]State{state}); err != nil {
		return nil, err
	}
	wanted := wantedNames(state)
	var tensors []Tensor
	for _, a := range file.Arrays {
		if !wanted[a.Name] {
			continue
		}
		t := Tensor{Name: a.Name, Shape: a.Shape, Data: a.F32, Count: a.DType == "I64"}
		if t.Count && len(a.Shape) > 0 {
			return nil, fmt.Errorf("tensor %q: type I64, expected a floating-point type, or I64 without dimensions", a.Name)
		}
		e := dtypes[a.DType]
		if e.parts > 1 {
			t.Shape = append(t.Shape, e.parts)
		}
		for b := a.Raw; len(b) > 0; b = b[e.width/e.parts:] {
			t.Data = append(t.Data, e.value(b))
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}
