package train

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// tiny is a run of four epochs of five steps that takes milliseconds, with dropout and batch norm, so that all
// that a resume must bring back is in play.
func tiny(t *testing.T, sets ...string) Config {
	t.Helper()
	c := preset(t, "delay")
	for _, s := range append([]string{
		"seed=5", "threads=1", "data.length=48", "data.delay=7", "data.train_size=20", "data.eval_size=6",
		"ssm.d_state=8", "ssm.xi_min=0.02", "ssm.xi_max=0.2", "model.n_layers=2", "model.norm=batch",
		"model.residual=true", "model.activation=gelu", "model.mixing=glu", "model.dropout=0.25",
		"optim.lr=0.01", "optim.weight_decay=0.1", "optim.schedule=cosine-warmup",
		"train.epochs=4", "train.batch=4", "train.eval_batch=3",
	}, sets...) {
		if err := c.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	c.Out = filepath.Join(t.TempDir(), "run")
	return c
}

func newTrainer(t *testing.T, c Config) *Trainer {
	t.Helper()
	tr, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// fit runs to the end and returns the trainer.
func fit(t *testing.T, c Config) *Trainer {
	t.Helper()
	tr := newTrainer(t, c)
	if err := tr.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tr
}

// sameWeights compares bits.
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

// metricsOf reads metrics.jsonl without what depends on the clock.
func metricsOf(t *testing.T, dir string) []Metrics {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
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
	sameWeights(t, what+": first moments", a.optim.m, b.optim.m)
	sameWeights(t, what+": second moments", a.optim.v, b.optim.v)
	x, err := os.ReadFile(a.path(bestFile))
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b.path(bestFile))
	if err != nil || !slices.Equal(x, y) {
		t.Errorf("%s: best.safetensors differs (%v)", what, err)
	}
	am, bm := metricsOf(t, a.dir), metricsOf(t, b.dir)
	aj, _ := json.Marshal(am)
	bj, _ := json.Marshal(bm)
	if string(aj) != string(bj) || len(am) != a.cfg.Train.Epochs {
		t.Errorf("%s: metrics\n%s\n%s", what, aj, bj)
	}
}

// stopper cancels a context after a number of steps.
type stopper struct {
	silent
	at     int
	cancel context.CancelFunc
}

func (s *stopper) Step(p Progress) {
	if p.Step == s.at {
		s.cancel()
	}
}

func TestResumeIsBitEqual(t *testing.T) {
	whole := fit(t, tiny(t))
	steps := whole.plan.total
	draw := random.New(9, random.Noise, 0, 0)
	for i := range 4 {
		stop := 1 + int(draw.Uint64(uint64(i))%uint64(steps))
		if i == 0 {
			stop = 2 * whole.plan.perEpoch // before the validation of an epoch
		}
		cfg := tiny(t)
		first := newTrainer(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		first.Report(&stopper{at: stop, cancel: cancel})
		if err := first.Fit(ctx); !errors.Is(err, ErrInterrupted) || first.Step() != stop {
			t.Fatalf("stopped at step %d with error %v, want step %d and ErrInterrupted", first.Step(), err, stop)
		}
		again, err := LoadRun(cfg.Out)
		if err != nil {
			t.Fatal(err)
		}
		sameRun(t, "stopped at step "+json.Number(rune2(stop)).String(), whole, fit(t, again))
	}
}

func rune2(n int) string { b, _ := json.Marshal(n); return string(b) }

// A crash leaves the last checkpoint, and perhaps more lines and a newer best.safetensors than belong to it.
func TestResumeAfterCrash(t *testing.T) {
	whole := fit(t, tiny(t))
	cfg := tiny(t, "train.checkpoint_every=3")
	first := newTrainer(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	first.Report(&stopper{at: 11, cancel: cancel})
	old := map[string][]byte{}
	keep := func() {
		b, err := os.ReadFile(first.path(checkpointFile))
		if err != nil {
			t.Fatal(err)
		}
		old[checkpointFile] = b
	}
	keep()
	if err := first.Fit(ctx); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	if err := os.WriteFile(first.path(checkpointFile), old[checkpointFile], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first.path(checkpointFile)+".tmp", []byte("half a checkp"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := LoadRun(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	sameRun(t, "crash", whole, fit(t, again))
}

func TestWorkersAreBitEqual(t *testing.T) {
	var runs []*Trainer
	for _, threads := range []string{"threads=1", "threads=2", "threads=3"} {
		runs = append(runs, fit(t, tiny(t, threads, "train.epochs=1")))
	}
	if runs[0].Step() != 5 {
		t.Fatalf("%d steps, want 5", runs[0].Step())
	}
	sameRun(t, "2 workers", runs[0], runs[1])
	sameRun(t, "3 workers", runs[0], runs[2])
}

func TestSeedsDiffer(t *testing.T) {
	a, b := fit(t, tiny(t, "train.epochs=1")), fit(t, tiny(t, "train.epochs=1", "seed=6"))
	if slices.Equal(a.model.Weights.DecoderWeight, b.model.Weights.DecoderWeight) {
		t.Error("two seeds, one result")
	}
}

// A finished run can be resumed with a larger budget; what defines it cannot change.
func TestResumeAndChange(t *testing.T) {
	cfg := tiny(t, "optim.schedule=constant", "train.epochs=2")
	fit(t, cfg)
	more, err := LoadRun(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	more.Train.Epochs = 4
	sameRun(t, "prolonged", fit(t, tiny(t, "optim.schedule=constant")), fit(t, more))

	more.Optim.LR = 0.5
	if _, err := New(more); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "optim.lr: there 0.01, here 0.5") {
		t.Errorf("another learning rate: error %v", err)
	}
}

func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := tiny(t)
	cfg.Out = ""
	for _, want := range []string{"runs/delay", "runs/delay-2", "runs/delay-3"} {
		if got := filepath.ToSlash(newTrainer(t, cfg).Dir()); got != want {
			t.Errorf("folder %s, want %s", got, want)
		}
	}
	cfg.Out = "runs/delay"
	if _, err := New(cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "runs/delay already holds a run") {
		t.Errorf("a folder in use: error %v", err)
	}
	cfg.Out, cfg.Resume = "elsewhere", true
	if _, err := New(cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "elsewhere holds no run") {
		t.Errorf("resume without a run: error %v", err)
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	cfg := tiny(t)
	path := newTrainer(t, cfg).path(checkpointFile)
	cfg.Resume = true
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"cut short":                  string(whole[:len(whole)-5]),
		"version 9":                  strings.Replace(string(whole), `\"version\":1`, `\"version\":9`, 1),
		`"adam.m.layers.1.C"`:        strings.Replace(string(whole), `"adam.m.layers.1.C"`, `"adam.n.layers.1.C"`, 1),
		checkpointFile + " is missi": "",
	} {
		if text == "" {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDivergence(t *testing.T) {
	cfg := tiny(t, "optim.lr=1e30", "optim.schedule=constant", "model.norm=none")
	tr := newTrainer(t, cfg)
	if err := tr.Fit(t.Context()); !errors.Is(err, ErrDiverged) {
		t.Fatalf("error %v, want ErrDiverged", err)
	}
	again, err := LoadRun(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	if resumed := newTrainer(t, again); !finite(resumed.model.Weights) {
		t.Error("the checkpoint that was kept holds weights that are no numbers")
	}
}

func TestEarlyStopping(t *testing.T) {
	tr := fit(t, tiny(t, "optim.lr=0", "optim.ssm_lr=0", "model.norm=none", "train.epochs=50", "train.patience=3"))
	if tr.state.Epoch != 4 || tr.Best().Epoch != 1 {
		t.Errorf("a run that learns nothing ended after epoch %d, best %d; want 4 and 1", tr.state.Epoch, tr.Best().Epoch)
	}
}

func TestMaxSteps(t *testing.T) {
	tr := fit(t, tiny(t, "train.max_steps=7"))
	m := metricsOf(t, tr.dir)
	if tr.Step() != 7 || len(m) != 2 || m[1].Step != 7 {
		t.Errorf("%d steps, metrics %+v; want 7 steps in two epochs", tr.Step(), m)
	}
}

func TestFrozenAndBuffers(t *testing.T) {
	tr := newTrainer(t, tiny(t, "optim.ssm_lr=0", "train.epochs=1"))
	before := model.NewWeights(tr.model.Config)
	before.CopyFrom(tr.model.Weights)
	if err := tr.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, x := range tr.model.Weights.Tensors() {
		same := slices.Equal(x.Data, before.Tensors()[i].Data)
		frozen := x.Kind == model.KindStep || x.Kind == model.KindDecay || x.Kind == model.KindAngle
		if same != frozen {
			t.Errorf("%s: unchanged %v, want %v", x.Name, same, frozen)
		}
	}
}

// The optimiser against the formula of spec §4.1, in float64.
func TestOptimizer(t *testing.T) {
	tr := newTrainer(t, tiny(t, "model.norm=layer"))
	w := tr.model.Weights
	want := map[string][]float64{}
	var m, v []map[string]float64
	_ = m
	_ = v
	grads := model.NewWeights(tr.model.Config)
	draw := random.New(1, random.Noise, 0, 0)
	for _, x := range w.Tensors() {
		for _, p := range x.Data {
			want[x.Name] = append(want[x.Name], float64(p))
		}
	}
	m1, m2 := map[string][]float64{}, map[string][]float64{}
	for step := 1; step <= 3; step++ {
		for ti, x := range grads.Tensors() {
			if m1[x.Name] == nil {
				m1[x.Name], m2[x.Name] = make([]float64, len(x.Data)), make([]float64, len(x.Data))
			}
			lr, decay := tr.cfg.Optim.Hyper(w.Tensors()[ti])
			lr *= 0.5
			for i := range x.Data {
				x.Data[i] = float32(draw.Normal(uint64(step*100000 + ti*1000 + i)))
				g := float64(x.Data[i])
				m1[x.Name][i] = 0.9*m1[x.Name][i] + 0.1*g
				m2[x.Name][i] = 0.999*m2[x.Name][i] + 0.001*g*g
				mh := m1[x.Name][i] / (1 - math.Pow(0.9, float64(step)))
				vh := m2[x.Name][i] / (1 - math.Pow(0.999, float64(step)))
				want[x.Name][i] = want[x.Name][i]*(1-lr*decay) - lr*mh/(math.Sqrt(vh)+1e-8)
			}
		}
		tr.optim.step(grads, step, 0.5)
	}
	for _, x := range w.Tensors() {
		for i, p := range x.Data {
			if d := math.Abs(float64(p) - want[x.Name][i]); d > 1e-6*(1+math.Abs(want[x.Name][i])) {
				t.Errorf("%s[%d] = %v, want %v", x.Name, i, p, want[x.Name][i])
				break
			}
		}
	}
}

func TestEvaluateRepeatsTheBestEpoch(t *testing.T) {
	tr := fit(t, tiny(t))
	m, err := tr.BestModel()
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	r, err := Evaluate(m, tr.data.Val, EvalOptions{
		Info: tr.Info(), Batch: 3, Workers: 2,
		Each: func(p Prediction) error {
			order = append(order, p.Index)
			if len(p.Logits) != 48 || len(p.Target) != 48 {
				t.Errorf("example %d: %d logits, %d targets", p.Index, len(p.Logits), len(p.Target))
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if best := tr.Best(); r.Loss != best.ValLoss || r.RelativeMSE != *best.RelativeMSE || r.N != 6 {
		t.Errorf("evaluated %+v, recorded %+v", r, best)
	}
	if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("order of examples %v", order)
	}
	x, target, output, err := tr.Sample()
	if err != nil || len(x) != 48 || !slices.Equal(target[7:], x[:41]) || len(output) != 48 {
		t.Errorf("sample of %d, %d, %d values, error %v", len(x), len(target), len(output), err)
	}
	info := tr.Info()
	info.Channels = 2
	if _, err := Evaluate(m, tr.data.Val, EvalOptions{Info: info}); err == nil || !strings.Contains(err.Error(), "d_input 1") {
		t.Errorf("a network for other data: error %v", err)
	}
	stop := errors.New("enough")
	if _, err := Evaluate(m, tr.data.Val, EvalOptions{Info: tr.Info(), Each: func(Prediction) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("error %v, want the caller's", err)
	}
}

// noTest gives a data set a test split.
func TestTestSplit(t *testing.T) {
	tr := newTrainer(t, tiny(t))
	tr.data.Test = tr.data.Val
	if err := tr.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tr.Test() == nil || tr.Test().Loss != tr.Best().ValLoss {
		t.Errorf("test %+v, best epoch %+v", tr.Test(), tr.Best())
	}
	text, err := os.ReadFile(tr.path(metricsFile))
	if err != nil || strings.Count(string(text), `{"split":"test","epoch":`) != 1 {
		t.Errorf("metrics %s, error %v", text, err)
	}
}

var _ dataset.Set = ramps{}
