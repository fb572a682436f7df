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
	switch kind {
	case "s5":
		return load[struct{ Unidirectional *TinyLayers }](t, "train-tiny-s5").Unidirectional
	case "s5-bidirectional":
		return load[struct{ Bidirectional *TinyLayers }](t, "train-tiny-s5").Bidirectional
	}
	return load[TinyLayers](t, "train-tiny-"+kind)
}
