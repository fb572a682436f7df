package train

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Checkpoint writes the weights and moments that a resumed run accepts, and no others.
func TestCheckpointValues(t *testing.T) {
	inf := float32(math.Inf(1))
	undamped := []string{"ssm.a_real=0", "ssm.param=" + string(ssm.ParamDiscrete)} // log decays of −Inf
	for _, tt := range []struct {
		name   string
		sets   []string
		change func(tr *Trainer)
		want   string // of the error; "": none
	}{
		{"undamped poles", undamped, func(*Trainer) {}, ""},
		{"infinite square", nil, func(tr *Trainer) { momentsOf(tr)[1].EncoderWeight[0] = inf }, ""},
		{"infinite mean", nil, func(tr *Trainer) { momentsOf(tr)[0].EncoderWeight[0] = inf }, "AdamW's moments 0 are +Inf and 0"},
		{"negative square", nil, func(tr *Trainer) { momentsOf(tr)[1].EncoderWeight[0] = -1 }, "AdamW's moments 0 are 0 and -1"},
		{"infinite weight", nil, func(tr *Trainer) { tr.model.Weights.EncoderWeight[0] = inf }, "element 0 is +Inf"},
	} {
		r := tiny(t, tt.sets...)
		tr := newTrainer(t, r)
		tt.change(tr)
		if err := tr.Checkpoint(); tt.want != "" {
			must.Fail(t, err, ErrDiverged, tt.want)
			continue
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		tr.Close()
		again := newTrainer(t, reload(t, r))
		sameWeights(t, tt.name, tr.model.Weights, again.model.Weights)
		sameWeights(t, tt.name, momentsOf(tr)[1], momentsOf(again)[1])
	}
}
