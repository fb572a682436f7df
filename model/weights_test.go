package model

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestTensorNames(t *testing.T) {
	block := func(names ...string) []string {
		return append(names, "C", "D")
	}
	dfout := block("log_dt", "log_A_real", "A_imag")
	s4d := []string{"log_dt", "log_A_real", "A_imag", "B", "C", "D"}
	mix := []string{"mix.weight", "mix.bias"}
	norm := []string{"norm.weight", "norm.bias"}
	batch := append(slices.Clone(norm), "norm.running_mean", "norm.running_var")
	linear := []string{"encoder.weight", "encoder.bias"}
	tests := map[string]struct{ encoder, layer, final []string }{
		"default":                {linear, slices.Concat(dfout, mix, norm), nil},
		"embedding":              {linear[:1], slices.Concat(dfout, mix, norm), nil},
		"batch norm":             {linear, slices.Concat(dfout, mix, batch), batch},
		"final layer norm":       {linear, slices.Concat(dfout, mix, norm), norm},
		"bare":                   {linear, dfout, nil},
		"linear mixing":          {linear, slices.Concat(dfout, mix, norm), nil},
		"tied and bidirectional": {linear, slices.Concat(s4d, mix, norm), nil},
		"block of S5":            {linear, slices.Concat(dfout, mix, norm, []string{"norm.running_mean", "norm.running_var"}), nil},
		"pairs":                  {linear, slices.Concat(dfout, mix, norm), []string{"compare.weight", "compare.bias"}},
		"discrete":               {linear, slices.Concat([]string{"log_xi", "log_rho", "theta", "B", "C", "D"}, mix, norm), nil},
		"unit circle":            {linear, slices.Concat(block("log_dt", "log_A_real", "A_imag"), mix, norm), nil},
	}
	for name, c := range variants() {
		if name == "one SSM of three" { // below
			continue
		}
		want := slices.Clone(tests[name].encoder)
		for _, layer := range []string{"layers.0.", "layers.1."} {
			for _, n := range tests[name].layer {
				want = append(want, layer+n)
			}
		}
		want = append(append(want, tests[name].final...), "decoder.weight", "decoder.bias")
		var got []string
		for _, x := range NewWeights(c).Tensors() {
			got = append(got, x.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%v\nexpected\n%v", name, got, want)
		}
	}
}

// A block without an SSM has no tensors of one.
func TestTensorNamesWithoutSSM(t *testing.T) {
	for _, x := range NewWeights(variants()["one SSM of three"]).Tensors() {
		isSSM := strings.HasPrefix(x.Name, "layers.0.") && !strings.Contains(x.Name, "mix") && !strings.Contains(x.Name, "norm")
		must.Equal(t, x.Kind <= KindD, isSSM, "%s: a tensor of an SSM", x.Name)
	}
}

func TestTensorShapes(t *testing.T) {
	c := variants()["tied and bidirectional"] // H = 6, M = 4, S = 2, two directions
	want := map[string][]int{
		"encoder.weight": {6, 3}, "encoder.bias": {6}, "decoder.weight": {5, 6}, "decoder.bias": {5},
		"layers.1.log_dt": {6}, "layers.1.log_A_real": {2, 4}, "layers.1.A_imag": {2, 4}, "layers.1.B": {2, 4, 2},
		"layers.1.C": {2, 6, 4, 2}, "layers.1.D": {6}, "layers.1.mix.weight": {12, 6}, "layers.1.mix.bias": {12},
		"layers.1.norm.weight": {6}, "layers.1.norm.bias": {6},
	}
	seen := 0
	for _, x := range NewWeights(c).Tensors() {
		if shape, ok := want[x.Name]; ok {
			seen++
			if !slices.Equal(x.Shape, shape) {
				t.Errorf("%s: shape %v, expected %v", x.Name, x.Shape, shape)
			}
		}
		must.Equal(t, len(x.Data), size(x.Shape), "%s: values for shape %v", x.Name, x.Shape)
	}
	must.Equal(t, seen, len(want), "tensors found")
	for name, shape := range map[string][]int{"default": {6, 4, 2}, "linear mixing": {6, 4, 2}} {
		for _, x := range NewWeights(variants()[name]).Tensors() {
			if x.Kind == KindC && !slices.Equal(x.Shape, shape) {
				t.Errorf("%s: %s: shape %v, expected %v", name, x.Name, x.Shape, shape)
			}
		}
	}
}

// All tensors are in one array, each aligned to 64 bytes. The floats between them stay zero.
func TestBackingArray(t *testing.T) {
	for name, c := range variants() {
		w := NewWeights(c)
		flat := w.Flat()
		base := uintptr(unsafe.Pointer(unsafe.SliceData(flat)))
		must.Equal(t, base%64, 0, "%s: bytes to the alignment of the array at %#x", name, base)
		owned := make([]bool, len(flat))
		end := uintptr(0)
		for _, x := range w.Tensors() {
			off := uintptr(unsafe.Pointer(unsafe.SliceData(x.Data))) - base
			if off%64 != 0 || off < end {
				t.Fatalf("%s: %s begins at byte %d, after byte %d", name, x.Name, off, end)
			}
			if last := int(off/4) + len(x.Data); last > len(flat) {
				t.Fatalf("%s: %s ends at element %d of %d", name, x.Name, last, len(flat))
			}
			end = off + uintptr(4*len(x.Data))
			must.Equal(t, cap(x.Data), len(x.Data), "%s: capacity of %s, behind which is the next tensor", name, x.Name)
			for i := range x.Data {
				x.Data[i] = 7
				owned[int(off/4)+i] = true
			}
		}
		for i, v := range flat {
			if owned[i] != (v == 7) || !owned[i] && v != 0 {
				t.Fatalf("%s: element %d is %v, part of a tensor: %t", name, i, v, owned[i])
			}
		}
		if w.Zero(); slices.ContainsFunc(flat, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: Zero leaves values", name)
		}
	}
}
