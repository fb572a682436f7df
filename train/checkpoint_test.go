package train

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A flipped bit, in the long form each, and every truncation of a checkpoint: an error, or the same
// state.
func TestEveryBitOfACheckpoint(t *testing.T) {
	tr := newTrainer(t, tiny(t, "model.d_model=2", "model.n_layers=1", "model.mixing=none", "model.norm=none", "ssm.d_state=2", "train.max_steps=2"))
	must.Do(t, tr.Fit(t.Context()))
	encode := func() []byte {
		var b bytes.Buffer
		must.Do(t, tr.writeCheckpoint(&b))
		return b.Bytes()
	}
	whole, state := encode(), tr.state
	must.Damage(t, whole, func(b []byte) bool {
		f, s, err := parseCheckpoint(bytes.NewReader(b))
		return err != nil || reflect.DeepEqual(s, state) && tr.restore(f, s) == nil && bytes.Equal(encode(), whole)
	})
}
