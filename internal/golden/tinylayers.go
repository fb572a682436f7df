package golden

import "testing"

// TinyLayers is the golden file of a network like Tiny whose layers are DSS, S4, S5 or LRU. The
// tensors have the names and shapes of the original code. Dense kernels of S5 and LRU are
// [in][out].
type TinyLayers struct {
	Losses     []float64           `json:"losses_before_each_step"`
	Logits     Nested              `json:"logits_step_0"` // [TinyBatch][5]
	Parameters map[string]Gradient // float32 numbers
	Gradients  map[string]Gradient `json:"gradients_at_step_0"`
	Running    map[string]Nested   `json:"running_statistics_after_20_steps"` // of S5's batch norms
}

// LoadTinyLayers returns the golden values of the network with layers "dss", "s4", "s5",
// "s5-bidirectional" or "lru". C of S4 is C̃ for TinyLen taps.
func LoadTinyLayers(t testing.TB, kind string) *TinyLayers {
	t.Helper()
	g := new(TinyLayers)
	switch kind {
	case "s5", "s5-bidirectional":
		var both struct{ Unidirectional, Bidirectional *TinyLayers }
		load(t, "train-tiny-s5.json", &both)
		if kind == "s5" {
			return both.Unidirectional
		}
		return both.Bidirectional
	}
	load(t, "train-tiny-"+kind+".json", g)
	return g
}
