package golden

import (
	"encoding/json"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
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
	list := map[string]*Scan{}
	for name, text := range *load[map[string]json.RawMessage](t, "layer-"+kind) {
		if text[0] == '{' { // not text about the file
			list[name] = new(Scan)
			must.Do(t, json.Unmarshal(text, list[name]))
		}
	}
	return list
}
