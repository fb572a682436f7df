package train

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// rampNet returns a network for the data of rampInfo.
func rampNet(t *testing.T) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 2, 3, 4, 1, 4
	return must.Get(model.New(c, 3))(t)
}

func TestEvaluateErrors(t *testing.T) {
	info := rampInfo
	info.Labels = []string{"a", "b", "c"}
	for _, c := range map[string]struct {
		labels []string
		change func(o *EvalOptions)
		is     error
		want   string
	}{
		"other label":      {[]string{"a", "x", "c"}, nil, ErrData, `the labels are ["a" "x" "c"] in the model, ["a" "b" "c"] in the data`},
		"fewer outputs":    {[]string{"a", "b", "c"}, func(o *EvalOptions) { o.Info.Labels, o.Info.Outputs = o.Info.Labels[:2], 2 }, ErrData, `["a" "b"] in the data`},
		"other channels":   {nil, func(o *EvalOptions) { o.Info.Channels = 3 }, ErrData, "d_input 2"},
		"batch":            {nil, func(o *EvalOptions) { o.Batch = -1 }, ErrConfig, "batch -1"},
		"threads":          {nil, func(o *EvalOptions) { o.Workers = -2 }, ErrConfig, "threads -2"},
		"too many threads": {nil, func(o *EvalOptions) { o.Workers = 5000 }, ErrConfig, "threads 5000"},
		"rate":             {nil, func(o *EvalOptions) { o.StepScale = -1 }, ErrConfig, "StepScale -1"},
	} {
		m, opt := rampNet(t), EvalOptions{Info: info}
		m.Meta.Labels = c.labels
		if c.change != nil {
			c.change(&opt)
		}
		must.Reject(Evaluate(t.Context(), m, ramps{3, -1}, opt))(t, c.is, c.want)
	}
	m := rampNet(t)
	m.Meta.Labels = info.Labels
	must.Get(Evaluate(t.Context(), m, ramps{3, -1}, EvalOptions{Info: info}))(t)
	must.Reject(Evaluate(t.Context(), m, nil, EvalOptions{Info: info}))(t, ErrData)
}

// withValue has a value in every example from index from on, and a path for each.
type withValue struct {
	shrinking
	from  int
	value float32
}

func (s withValue) Example(e *dataset.Example, i, epoch int) error {
	if err := s.shrinking.Example(e, i, epoch); err != nil {
		return err
	}
	e.Path = "clip"
	if i >= s.from {
		e.X[0] = s.value
	}
	return nil
}

// The shortest examples are evaluated first and are the last of this set. The error names the first
// example of the set.
func TestEvaluateNotFinite(t *testing.T) {
	for value, want := range map[float32]string{
		math.MaxFloat32:         "example 2 (clip): the network's output is NaN",
		float32(math.NaN()):     "(clip): sample 0 is NaN, expected a number",
		float32(-math.MaxInt64): "",
	} {
		_, err := Evaluate(t.Context(), rampNet(t), withValue{shrinking{ramps{7, -1}}, 2, value}, EvalOptions{
			Info: rampInfo, Batch: 2, Workers: 1,
			Each: func(p Prediction) error {
				if want != "" {
					t.Errorf("%v: Each is called with example %d", value, p.Index)
				}
				return nil
			},
		})
		if want == "" {
			must.Do(t, err)
			continue
		}
		must.Fail(t, err, ErrData, want)
	}
}
