package golden

import (
	"encoding/json"
	"fmt"
	"math"
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
	Gradients  map[string]Nested // of Σ Cotangent·Y
	GradientX  Nested            `json:"gradient_x_batch0"` // [H][L], of sequence 0
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

// Input returns the layer's input [Batch][H][L].
func (g *Scan) Input() []float64 {
	return g.values(func(b, h, l float64) float64 {
		return math.Sin(0.05*(b+1)*(h+1)*l+0.3*b) + 0.5*math.Cos(0.37*(b+1)*l+h)
	})
}

// Cotangent returns ∂loss/∂Y.
func (g *Scan) Cotangent() []float64 {
	return g.values(func(b, h, l float64) float64 { return math.Cos(0.11*l + 0.7*h + 0.2*b) })
}

func (g *Scan) values(f func(b, h, l float64) float64) []float64 {
	var x []float64
	for b := range g.Config.Batch {
		for h := range g.Config.H {
			for l := range g.Config.L {
				x = append(x, f(float64(b), float64(h), float64(l)))
			}
		}
	}
	return x
}
