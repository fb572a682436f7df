package train

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The training loop agrees with a plain one in examples, dropout, learning rate and recorded
// metrics.
func TestLoop(t *testing.T) {
	cfg := tiny(t, "model.norm=layer", "train.epochs=2")
	tr := fit(t, cfg)
	cfg.Out += "-by-hand"
	hand := newTrainer(t, cfg)
	net := must.Get(convmode.New(hand.model, convmode.Options{MaxBatch: 4, MaxLen: 48, Training: true}))(t)
	defer net.Close()
	var lines []Metrics
	for epoch := range 2 {
		loss := 0.0
		for i, members := range dataset.Buckets(make([]int, 20), 4, 5, epoch, true) {
			step := 5*epoch + i
			var x, target []float32
			for _, m := range members {
				var e dataset.Example
				must.Do(t, hand.data.Train.Example(&e, m, epoch))
				x, target = append(x, e.X...), append(target, e.Target...)
			}
			logits := net.ForwardTrain(convmode.Batch{Size: 4, Len: 48, X: x}, convmode.Step{Seed: 5, Step: step})
			d := make([]float32, len(logits))
			for j, y := range logits {
				diff := float64(y) - float64(target[j])
				loss += diff * diff / float64(5*len(logits))
				d[j] = float32(2 * diff / float64(len(logits)))
			}
			grads := model.NewWeights(hand.model.Config)
			net.Backward(d, grads)
			factor := 1.0 // one step of warm-up of ten steps
			switch step {
			case 0:
				factor = 0
			default:
				factor = (1 + math.Cos(math.Pi*float64(step-1)/9)) / 2
			}
			hand.optim.Step(grads, step+1, factor)
		}
		lines = append(lines, Metrics{Epoch: epoch + 1, Step: 5 * (epoch + 1), TrainLoss: loss})
	}
	want := hand.model.Weights.Flat()
	for i, v := range tr.model.Weights.Flat() {
		if d := math.Abs(float64(v - want[i])); !(d <= 1e-4*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("weight %d is %v, expected %v", i, v, want[i])
		}
	}
	for i, got := range metricsOf(t, tr.run.Dir) {
		want := lines[i]
		if got.Epoch != want.Epoch || got.Step != want.Step || math.Abs(got.TrainLoss-want.TrainLoss) > 1e-4 {
			t.Errorf("line %d: %+v, expected %+v", i+1, got, want)
		}
		if got.ValLoss <= 0 {
			t.Errorf("line %d: validation loss %v, expected a positive one", i+1, got.ValLoss)
		}
		if want := math.Sqrt(got.ValLoss); math.Abs(*got.ValRMSE-want) > 1e-6*want {
			t.Errorf("line %d: validation RMSE %v, expected %v", i+1, *got.ValRMSE, want)
		}
		if got.ValAccuracy != nil {
			t.Errorf("line %d: validation accuracy %v, expected none", i+1, *got.ValAccuracy)
		}
	}
}

// A higher accuracy is better, and a lower loss if it is the same. With a class per position, and
// without an accuracy, only the loss counts.
func TestBetterThan(t *testing.T) {
	epoch := func(accuracy, loss float64) *Metrics { return &Metrics{ValAccuracy: &accuracy, ValLoss: loss} }
	for _, c := range []struct {
		a, b              *Metrics
		want, perPosition bool
	}{
		{epoch(0.5, 2), nil, true, true},
		{epoch(0.6, 3), epoch(0.5, 2), true, false},
		{epoch(0.4, 1), epoch(0.5, 2), false, true},
		{epoch(0.5, 1), epoch(0.5, 2), true, true},
		{epoch(0.6, 2), epoch(0.5, 2), true, false},
		{epoch(0.5, 2), epoch(0.6, 2), false, false},
		{epoch(0.5, 2), epoch(0.5, 2), false, false},
		{&Metrics{ValLoss: 1}, &Metrics{ValLoss: 2}, true, true},
		{&Metrics{ValLoss: 2}, &Metrics{ValLoss: 1}, false, false},
		{epoch(0.9, 2), &Metrics{ValLoss: 1}, false, false},
	} {
		must.Equal(t, c.a.betterThan(c.b, false), c.want, "%+v better than %+v", c.a, c.b)
		must.Equal(t, c.a.betterThan(c.b, true), c.perPosition, "%+v better than %+v, with a class per position", c.a, c.b)
	}
}

// Example 0 is the longest of a set.
type shrinking struct{ ramps }

func (s shrinking) Length(i int) int { return s.n - i }

func (s shrinking) Example(e *dataset.Example, i, epoch int) error {
	if err := s.ramps.Example(e, s.n-1-i, epoch); err != nil {
		return err
	}
	e.Label = i % 3
	return nil
}

// The output for an example does not depend on the others of its batch. Predictions are in the
// order of the set.
func TestEvaluateMixedLengths(t *testing.T) {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 2, 3, 4, 2
	c.SSM = ssm.Config{DState: 4, Init: ssm.DFouT, Disc: ssm.ZOH, AReal: 0.5, XiMin: 0.1, XiMax: 0.2}
	m, err := model.New(c, 3)
	must.Do(t, err)
	m.Meta.InputMean, m.Meta.InputStd = []float32{30, 20}, []float32{40, 30}
	var runs [2][]Prediction
	var results [2]Result
	for i, batch := range []int{1, 4} {
		results[i] = must.Get(Evaluate(t.Context(), m, shrinking{ramps{7, -1}}, EvalOptions{
			Info: rampInfo, Batch: batch, Workers: 1,
			Each: func(p Prediction) error {
				if p.Index != len(runs[i]) || p.Label != p.Index%3 || p.Class != model.ArgMax(p.Logits) {
					t.Errorf("prediction %d is %+v", len(runs[i]), p)
				}
				runs[i] = append(runs[i], p)
				return nil
			},
		}))(t)
	}
	for i, p := range runs[0] {
		for j, v := range p.Logits {
			if math.Abs(float64(v-runs[1][i].Logits[j])) > 1e-5 {
				t.Errorf("example %d: logits %v alone, %v in a batch", i, p.Logits, runs[1][i].Logits)
				break
			}
		}
	}
	if r := results[0]; r.N != 7 || r.Accuracy != results[1].Accuracy || math.Abs(r.Loss-results[1].Loss) > 1e-5 {
		t.Errorf("results %+v and %+v", r, results[1])
	}
}
