package convmode

import (
	"encoding/json"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/golden"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// scanFile is the golden file of one LRU or S5 layer alone, without norm, activation and mixing. A
// program written for these files computed it in PyTorch.
type scanFile struct {
	Config struct {
		H, L, Batch    int
		N, P           int // modes of an LRU, of an S5
		Discretisation string
		Bidirectional  bool
		ClipEigs       bool    `json:"clip_eigs"`
		StepScale      float64 `json:"step_rescale"`
	}
	Parameters map[string]golden.Nested // by the names of the original code
	Y          golden.Nested            // [Batch][H][L]
}

// scanFiles returns the golden layers of a kind, "lru" or "s5", by their names.
func scanFiles(t testing.TB, kind string) map[string]*scanFile {
	t.Helper()
	list := map[string]*scanFile{}
	for name, text := range *golden.Load[map[string]json.RawMessage](t, "layer-"+kind) {
		if text[0] == '{' { // not text about the file
			list[name] = new(scanFile)
			must.Do(t, json.Unmarshal(text, list[name]))
		}
	}
	return list
}

// tinyLayers is the golden file of a network like golden.Tiny whose layers are DSS, S4, S5 or LRU.
// The tensors have the names and shapes of the original code. Dense kernels of S5 and LRU are
// [in][out].
type tinyLayers struct {
	Losses     []float64                  `json:"losses_before_each_step"`
	Logits     golden.Nested              `json:"logits_step_0"` // [TinyBatch][5]
	Parameters map[string]golden.Gradient // float32 numbers
	Gradients  map[string]golden.Gradient `json:"gradients_at_step_0"`
	Running    map[string]golden.Nested   `json:"running_statistics_after_20_steps"` // of S5's batch norms
}

// loadTinyLayers returns the golden values of the network with layers "dss", "s4", "s5",
// "s5-bidirectional" or "lru". C of S4 is C̃ for TinyLen taps.
func loadTinyLayers(t testing.TB, kind string) *tinyLayers {
	t.Helper()
	switch kind {
	case "s5":
		return golden.Load[struct{ Unidirectional *tinyLayers }](t, "train-tiny-s5").Unidirectional
	case "s5-bidirectional":
		return golden.Load[struct{ Bidirectional *tinyLayers }](t, "train-tiny-s5").Bidirectional
	}
	return golden.Load[tinyLayers](t, "train-tiny-"+kind)
}
