package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

// tiny returns a run of four epochs of five steps that takes milliseconds. It has dropout and batch
// norm, whose state a resume must restore.
func tiny(t testing.TB, sets ...string) run {
	t.Helper()
	c := run{Config: preset(t, "delay")}
	for _, s := range append([]string{
		"seed=5", "threads=1", "data.length=48", "data.delay=7", "data.train_size=20", "data.eval_size=6",
		"ssm.d_state=8", "ssm.a_real=0.5", "ssm.xi_min=0.02", "ssm.xi_max=0.2", "model.n_layers=2", "model.norm=batch",
		"model.residual=true", "model.activation=gelu", "model.mixing=glu", "model.dropout=0.25",
		"optim.lr=0.01", "optim.weight_decay=0.1", "optim.schedule=cosine-warmup",
		"train.epochs=4", "train.batch=4",
	}, sets...) {
		must.Do(t, c.Set(s))
	}
	c.Out = filepath.Join(t.TempDir(), "run")
	return c
}

func newTrainer(t testing.TB, c run) *Trainer {
	t.Helper()
	tr := must.Get(start(t.Context(), c))(t)
	t.Cleanup(func() { tr.Close() })
	return tr
}

// fit runs to the end, closes the trainer and returns it.
func fit(t *testing.T, c run) *Trainer {
	t.Helper()
	tr := newTrainer(t, c)
	must.Do(t, tr.Fit(t.Context()))
	tr.Close()
	return tr
}

// sameWeights compares weights bit for bit.
func sameWeights(t *testing.T, what string, a, b *model.Weights) {
	t.Helper()
	for i, x := range a.Tensors() {
		y := b.Tensors()[i]
		for j := range x.Data {
			if math.Float32bits(x.Data[j]) != math.Float32bits(y.Data[j]) {
				t.Errorf("%s: %s[%d] is %v and %v", what, x.Name, j, x.Data[j], y.Data[j])
				return
			}
		}
	}
}

// momentsOf returns AdamW's two moments.
func momentsOf(tr *Trainer) []*model.Weights {
	m, v := tr.optim.Moments()
	return []*model.Weights{m, v}
}

// metricsOf reads metrics.jsonl without the times.
func metricsOf(t *testing.T, dir string) []Metrics {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, metricsFile)))(t)
	var all []Metrics
	for line := range strings.Lines(string(text)) {
		var m Metrics
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		m.Seconds, m.SequencesPerSecond = 0, 0
		all = append(all, m)
	}
	return all
}

// sameRun compares the ends of two runs bit for bit.
func sameRun(t *testing.T, what string, a, b *Trainer) {
	t.Helper()
	sameWeights(t, what+": last weights", a.model.Weights, b.model.Weights)
	sameWeights(t, what+": first moments", momentsOf(a)[0], momentsOf(b)[0])
	sameWeights(t, what+": second moments", momentsOf(a)[1], momentsOf(b)[1])
	x := must.Get(os.ReadFile(a.run.path(BestFile)))(t)
	y, err := os.ReadFile(b.run.path(BestFile))
	if err != nil || !slices.Equal(x, y) {
		t.Errorf("%s: best.safetensors differs (%v)", what, err)
	}
	am, bm := metricsOf(t, a.run.Dir), metricsOf(t, b.run.Dir)
	aj, _ := json.Marshal(am)
	bj, _ := json.Marshal(bm)
	must.Equal(t, string(aj), string(bj), "%s: metrics", what)
	must.Equal(t, len(am), a.cfg.Train.Epochs, "%s: epochs in the metrics", what)
}

// stopAt cancels a context after a number of steps.
func stopAt(step int, cancel context.CancelFunc) Reporter {
	return spy{func(p Progress) {
		if p.Step == step {
			cancel()
		}
	}}
}

// More threads than processors, and than sequences in a batch, do not change a bit either.
func TestWorkersAreBitEqual(t *testing.T) {
	run := func(threads int) *Trainer {
		return fit(t, tiny(t, fmt.Sprint("threads=", threads), "train.epochs=1", "model.d_model=64", "train.batch=24", "data.train_size=120"))
	}
	one := run(1)
	if one.Step() != 5 {
		t.Fatalf("%d steps, expected 5", one.Step())
	}
	for _, threads := range []int{2, 3, 5, 30}[:must.Cases(2, 4)] {
		sameRun(t, fmt.Sprint(threads, " threads"), one, run(threads))
	}
}

func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := tiny(t)
	cfg.Out = ""
	for _, want := range []string{"runs/delay", "runs/delay-2", "runs/delay-3"} {
		must.Equal(t, filepath.ToSlash(newTrainer(t, cfg).Dir()), want, "folder")
	}
	cfg.Out = "runs/delay"
	must.Reject(start(t.Context(), cfg))(t, ErrConfig, "runs/delay already holds a run")
	cfg.Out, cfg.Resume = "elsewhere", true
	must.Reject(start(t.Context(), cfg))(t, ErrConfig, "elsewhere contains no run")
}

func TestEarlyStopping(t *testing.T) {
	tr := fit(t, tiny(t, "optim.lr=0", "optim.ssm_lr=0", "model.norm=none", "train.epochs=50", "train.patience=3"))
	if tr.state.Epoch != 4 || tr.BestEpoch().Epoch != 1 {
		t.Errorf("a run that learns nothing ended after epoch %d, best %d; expected 4 and 1", tr.state.Epoch, tr.BestEpoch().Epoch)
	}
}

func TestMaxSteps(t *testing.T) {
	tr := fit(t, tiny(t, "train.max_steps=7"))
	m := metricsOf(t, tr.run.Dir)
	if tr.Step() != 7 || len(m) != 2 || m[1].Step != 7 {
		t.Errorf("%d steps, metrics %+v; expected 7 steps in two epochs", tr.Step(), m)
	}
}

func TestEvaluateRepeatsTheBestEpoch(t *testing.T) {
	tr := fit(t, tiny(t))
	m := tr.Best()
	var order []int
	r := must.Get(Evaluate(t.Context(), m, tr.data.Val, EvalOptions{
		Info: tr.data.Info, Batch: 4, Workers: 2,
		Each: func(p Prediction) error {
			order = append(order, p.Index)
			if len(p.Logits) != 48 || len(p.Target) != 48 {
				t.Errorf("example %d: %d logits, %d targets", p.Index, len(p.Logits), len(p.Target))
			}
			return nil
		},
	}))(t)
	best := tr.BestEpoch()
	must.Equal(t, r.Loss, best.ValLoss, "evaluated loss")
	must.Equal(t, r.RelativeMSE, *best.RelativeMSE, "evaluated relative MSE")
	must.Equal(t, r.N, 6, "evaluated examples")
	if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("order of examples %v", order)
	}
	info := tr.data.Info
	info.Channels = 2
	must.Reject(Evaluate(t.Context(), m, tr.data.Val, EvalOptions{Info: info}))(t, "d_input 1")
	stop := errors.New("enough")
	must.Reject(Evaluate(t.Context(), m, tr.data.Val, EvalOptions{Info: tr.data.Info, Each: func(Prediction) error { return stop }}))(t, stop)
}

func TestTestSplit(t *testing.T) {
	tr := newTrainer(t, tiny(t))
	tr.data.Test = tr.data.Val
	must.Do(t, tr.Fit(t.Context()))
	if tr.Test() == nil || tr.Test().Loss != tr.BestEpoch().ValLoss {
		t.Errorf("test %+v, best epoch %+v", tr.Test(), tr.BestEpoch())
	}
	text, err := os.ReadFile(tr.run.path(metricsFile))
	if err != nil || strings.Count(string(text), `{"split":"test","epoch":`) != 1 {
		t.Errorf("metrics %s, error %v", text, err)
	}
}

// spy calls step after every step.
type spy struct{ step func(Progress) }

func (spy) Begin(Progress)      {}
func (s spy) Step(p Progress)   { s.step(p) }
func (spy) Epoch(Metrics, bool) {}
func (spy) End()                {}

// The trainer's part of a step allocates nothing. The tests of convmode cover the rest.
func TestStepAllocations(t *testing.T) {
	tr := newTrainer(t, tiny(t))
	s := must.Get(newStepper(tr))(t)
	defer s.shards.close()
	b := s.buffers[0]
	b.load(tr.data.Train, []int{0, 1, 2, 3}, 0, par.New(1))
	step := func() {
		must.Do(t, tr.step(s, b))
	}
	step()
	if n := testing.AllocsPerRun(20, step); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}
