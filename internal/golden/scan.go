package golden

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Scan is the golden file of one LRU or S5 layer alone, without norm, activation and mixing. A
// program written for these files computed it in PyTorch.
type Scan struct {
	Config struct {
		H, L, Batch    int
		N, P           int // modes of an LRU, of an S5
		Discretisation string
		Bidirectional  bool
		ClipEigs       bool    `json:"clip_eigs"`
		StepScale      float64 `json:"step_rescale"`
	}
	Parameters map[string]Nested // by the names of the original code
	Y          Nested            // [Batch][H][L]
}

// Nested holds the numbers of nested JSON arrays, row-major.
type Nested []float64

// UnmarshalJSON reads a number, or an array of such values.
func (n *Nested) UnmarshalJSON(text []byte) error {
	var rows []Nested
	if json.Unmarshal(text, &rows) == nil {
		for _, row := range rows {
			*n = append(*n, row...)
		}
		return nil
	}
	var x float64
	err := json.Unmarshal(text, &x)
	*n = append(*n, x)
	return err
}

// Scans returns the golden layers of a kind, "lru" or "s5", by their names.
func Scans(t testing.TB, kind string) map[string]*Scan {
	t.Helper()
	var entries map[string]json.RawMessage
	load(t, "layer-"+kind+".json", &entries)
	list := map[string]*Scan{}
	for name, text := range entries {
		if text[0] != '{' { // text about the file
			continue
		}
		g := new(Scan)
		if err := json.Unmarshal(text, g); err != nil {
			t.Fatal(fmt.Errorf("golden: layer-%s.json: %s: %w", kind, name, err))
		}
		list[name] = g
	}
	return list
}
