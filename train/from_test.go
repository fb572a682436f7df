package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// pitches returns sequences of one channel, a class per frequency, with values around mean.
func pitches(t *testing.T, labels []string, mean float32) *dataset.Dataset {
	t.Helper()
	draw := random.New(4, random.Signal, 0, 0)
	var sets [2][]dataset.Example
	for i := range 12 * len(labels) {
		e := dataset.Example{Label: i % len(labels)}
		for l := range 32 {
			bit := float32(l / (1 + len(labels[e.Label])) % 2)
			e.X = append(e.X, mean+10*bit+float32(draw.Normal(uint64(32*i+l))))
		}
		sets[min(i/(8*len(labels)), 1)] = append(sets[min(i/(8*len(labels)), 1)], e)
	}
	return must.Get(dataset.FromSlices(dataset.Info{Name: "pitches", Channels: 1, Labels: labels, SampleRate: 100}, sets[0], sets[1], nil))(t)
}

// tuned is the configuration of a small network for pitches.
func tuned(t *testing.T, data *dataset.Dataset, sets ...string) run {
	t.Helper()
	r := tiny(t, append([]string{"model.pool=mean", "train.epochs=2"}, sets...)...)
	r.Task, r.Data, r.data = "", nil, data
	return r
}

// trained returns a model of the labels a, bb and ccc.
func trained(t *testing.T) *model.Model {
	t.Helper()
	return fit(t, tuned(t, pitches(t, []string{"a", "bb", "ccc"}, 100))).Best()
}

// A run from a model begins with its weights, its rows of the decoder for labels that both have,
// and its normalisation, whatever the order of labels and the mean of the data.
func TestFrom(t *testing.T) {
	m := trained(t)
	data := pitches(t, []string{"dddd", "ccc", "a"}, 50)
	m.Meta.Recordings, data.Recordings = model.Fingerprints{1, 3}, model.Fingerprints{2, 3}
	r := tuned(t, data, "model.dropout=0.5")
	r.From = m
	tr := newTrainer(t, r)
	must.Equal(t, fmt.Sprint(tr.model.Meta.Recordings), "[1 2 3]", "recordings of both trainings")
	fresh := newTrainer(t, tuned(t, data))
	w, old, initial := tr.model.Weights, m.Weights, fresh.model.Weights
	for i, x := range w.Tensors() {
		if !x.In("decoder") && !slices.Equal(x.Data, old.Tensors()[i].Data) {
			t.Errorf("%s is not that of the model", x.Name)
		}
	}
	h := m.Config.DModel
	for o, want := range [][]float32{initial.DecoderWeight[:h], old.DecoderWeight[2*h:], old.DecoderWeight[:h]} {
		if got := w.DecoderWeight[o*h : (o+1)*h]; !slices.Equal(got, want) {
			t.Errorf("row %d of the decoder: %v, expected %v", o, got, want)
		}
	}
	meta := tr.model.Meta
	must.Equal(t, fmt.Sprint(meta.Labels, meta.InputMean, meta.InputStd), fmt.Sprint(data.Labels, m.Meta.InputMean, m.Meta.InputStd), "labels, mean and deviation")
	must.Equal(t, tr.Config().From, fmt.Sprintf("%x", m.Hash()), "from")
	if d := tr.Describe(); !strings.Contains(d, "parameters of a trained model except for 1 of 3 outputs;") {
		t.Errorf("description %q", d)
	}
	before := slices.Clone(old.Flat())
	must.Do(t, tr.Fit(t.Context()))
	if !slices.Equal(old.Flat(), before) {
		t.Error("the run changed the model")
	}
	if slices.Equal(tr.model.Weights.Layers[0].C, old.Layers[0].C) {
		t.Error("the run did not change the layers")
	}
}

// A run from a model resumes with the same bits without the model. A run that has no checkpoint
// requires it.
func TestFromResume(t *testing.T) {
	m := trained(t)
	data := pitches(t, []string{"a", "x"}, 20)
	fresh := func() run {
		r := tuned(t, data, "optim.freeze=[\"norm\"]")
		r.SetFrom(m)
		r.From = m
		return r
	}
	whole := fit(t, fresh())
	begin := must.Get(os.ReadFile(newTrainer(t, fresh()).run.path(checkpointFile)))(t)
	again := reload(t, stopped(t, fresh(), 3))
	again.From = nil
	sameRun(t, "resumed", whole, fit(t, again))

	other := m.Meta
	other.Labels = []string{"a", "bb", "d"}
	again.From = &model.Model{Config: m.Config, Meta: other, Weights: m.Weights}
	must.Reject(start(t.Context(), again))(t, ErrConfig, "train: from: the model has the hash ", "expected "+whole.cfg.From[:12]+"… as in the configuration")

	for _, name := range []string{checkpointFile, metricsFile, BestFile} {
		os.Remove(filepath.Join(again.Out, name))
	}
	again.From = nil
	must.Reject(start(t.Context(), again))(t, ErrConfig, "has no checkpoint, so the run must start again from its model (hash "+whole.cfg.From[:12])
	again.From = m
	restarted := newTrainer(t, again)
	restarted.Close()
	if got := must.Get(os.ReadFile(restarted.run.path(checkpointFile)))(t); !slices.Equal(got, begin) {
		t.Error("the run that began again has another first checkpoint")
	}
}

// Frozen groups keep every bit, their running statistics too, and their moments stay 0; others
// move.
func TestFreeze(t *testing.T) {
	data := pitches(t, []string{"a", "bb"}, 0)
	for _, groups := range [][]string{{"encoder"}, {"ssm", "norm"}, {"layers.0", "decoder"}, {"layers"}, {"encoder", "layers"}, {"mixing"}} {
		list := `optim.freeze=["` + strings.Join(groups, `","`) + `"]`
		r := tuned(t, data, list)
		before := newTrainer(t, tuned(t, data, list)).model.Weights
		tr := fit(t, r)
		for i, x := range tr.model.Weights.Tensors() {
			frozen := slices.ContainsFunc(groups, x.In)
			must.Equal(t, slices.Equal(x.Data, before.Tensors()[i].Data), frozen, "freeze %q: %s kept its values", groups, x.Name)
			for _, moment := range momentsOf(tr) {
				isFrozen := frozen || x.Kind == model.KindBuffer
				zero := !slices.ContainsFunc(moment.Tensors()[i].Data, func(v float32) bool { return v != 0 })
				must.Equal(t, zero, isFrozen, "freeze %q: a moment of %s is 0", groups, x.Name)
			}
		}
	}
}

func TestFromErrors(t *testing.T) {
	m := trained(t)
	data := pitches(t, []string{"a", "x"}, 0)
	for _, c := range []struct {
		name   string
		change func(*run)
		want   string
	}{
		{"network", func(r *run) {
			must.Do(t, r.Set("model.d_model=64"))
			must.Do(t, r.Set("ssm.d_state=4"))
			must.Do(t, r.Set("model.prenorm=true"))
		}, "train: from: model.d_model is 4 in the model, 64 in this run; model.prenorm is false in the model, true in this run; ssm.d_state is 8 in the model, 4 in this run"},
		{"channels", func(r *run) {
			two := []dataset.Example{{X: []float32{1, 2, 3, 4}}, {X: []float32{4, 3, 2, 1}, Label: 1}, {X: []float32{4, 3, 2, 1}, Label: 1}, {X: []float32{4, 3, 2, 1}}}
			r.data = must.Get(dataset.FromSlices(dataset.Info{Channels: 2, Labels: []string{"a", "x"}, SampleRate: 8000}, two, two, nil))(t)
		}, "train: from: d_input is 1 in the model, 2 in this run; the sampling rate is 100 Hz in the model, 8000 Hz in this run"},
		{"frozen decoder", func(r *run) { must.Do(t, r.Set(`optim.freeze=["decoder"]`)) },
			`train: optim.freeze: the decoder has 1 output that the model does not have, which must learn`},
		{"all frozen", func(r *run) { must.Do(t, r.Set(`optim.freeze=["encoder","layers","decoder"]`)); r.From = nil },
			`train: optim.freeze ["encoder" "layers" "decoder"]: nothing is left to train`},
		{"unknown group", func(r *run) { must.Do(t, r.Set(`optim.freeze=["encodr"]`)) },
			`train: optim.freeze "encodr": expected encoder, layers, layers.0 to layers.1, ssm, mixing, norm or decoder; did you mean "encoder"?`},
		{"unknown layer", func(r *run) { must.Do(t, r.Set(`optim.freeze=["layers.2"]`)) }, `train: optim.freeze "layers.2": expected `},
		{"no model", func(r *run) { r.SetFrom(m); r.From = nil }, "train: from: the configuration names trained weights (hash "},
		{"another model", func(r *run) { r.Config.From = "abc" }, "expected abc… as in the configuration"},
	} {
		r := tuned(t, data)
		r.From = m
		c.change(&r)
		must.Reject(start(t.Context(), r))(t, ErrConfig, c.want)
		if _, err := os.Stat(r.Out); err == nil {
			t.Errorf("%s: the run folder exists", c.name)
		}
	}
}

// A regression keeps the unit of the outputs that it keeps.
func TestFromRegression(t *testing.T) {
	noise := func(mean float32) *dataset.Dataset {
		var list []dataset.Example
		for i := range 8 {
			list = append(list, dataset.Example{X: []float32{float32(i), 1, float32(i % 3)}, Target: []float32{mean + float32(i)}})
		}
		return must.Get(dataset.FromSlices(dataset.Info{Name: "r", Channels: 1, Regression: true}, list, list, nil))(t)
	}
	m := fit(t, tuned(t, noise(100))).Best()
	r := tuned(t, noise(-5))
	r.From = m
	tr := newTrainer(t, r)
	must.Equal(t, fmt.Sprint(tr.model.Meta.TargetMean, tr.model.Meta.TargetStd), fmt.Sprint(m.Meta.TargetMean, m.Meta.TargetStd), "mean and deviation of the target")
	if !slices.Equal(tr.model.Weights.Flat(), m.Weights.Flat()) {
		t.Error("the weights are not those of the model")
	}
	named := m.Meta
	named.Series = &model.Series{Mode: model.SeriesRegression, Columns: []string{"c"}, Targets: []string{"old"}}
	r = tuned(t, noise(-5))
	r.data.Series = &model.Series{Mode: model.SeriesRegression, Columns: []string{"c"}, Targets: []string{"new"}}
	r.From = &model.Model{Config: m.Config, Meta: named, Weights: m.Weights}
	tr = newTrainer(t, r)
	must.Equal(t, fmt.Sprint(tr.model.Meta.TargetMean), fmt.Sprint(r.data.TargetMean), "mean of a new target")
}

// A run from an S4 model with shorter kernels extends them: the first outputs are those of the
// model. Kernels that cannot be extended are an error that names the key.
func TestFromShorterKernels(t *testing.T) {
	data := pitches(t, []string{"a", "bb"}, 0)
	s4 := func(sets ...string) run {
		return tuned(t, data, append([]string{"ssm.layer=s4", "ssm.init=legs", "ssm.disc=bilinear", "ssm.a_real=0"}, sets...)...)
	}
	long := newTrainer(t, s4("ssm.l_kernel=32"))
	c := long.model.Config
	c.SSM.LKernel = 16
	short := must.Get(model.New(c, 7))(t)
	short.Meta = long.model.Meta
	r := s4()
	r.SetFrom(short)
	r.From = short
	tr := newTrainer(t, r)
	must.Equal(t, tr.Config().SSM.LKernel, 32, "l_kernel")
	for h, old := range convmode.MeanKernel(short, 0, 32)[0] {
		now := convmode.MeanKernel(tr.model, 0, 32)[0][h]
		if d := now - old; !(d*d < 1e-10*(1+old*old)) {
			t.Fatalf("tap %d: %v, expected %v", h, now, old)
		}
	}
	must.Do(t, tr.Fit(t.Context()))
	for _, layer := range []string{"s4", "dss"} {
		r := s4("ssm.l_kernel=31")
		if layer == "dss" {
			r = tuned(t, data, "ssm.layer=dss", "ssm.init=legs", "ssm.l_kernel=31")
		}
		must.Reject(start(t.Context(), r))(t, ErrConfig, "ssm.l_kernel 31: layer \""+layer+"\" is trained with at least 32 taps, the length of the longest sequence")
	}
}
