package train

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Positions without a label and padding do not count. Predictions leave out the padding.
func TestPositionCrossEntropy(t *testing.T) {
	const classes, length = 3, 4
	b := newBatch(dataset.Info{Channels: 1, Outputs: classes, PerPosition: true, MaxLen: length}, &model.Meta{}, 2)
	b.load(sliceSet{
		{X: make([]float32, 4), Len: 4, Labels: []int32{2, -1, 0, 1}},
		{X: make([]float32, 3), Len: 3, Labels: []int32{1, 1, -1}},
	}, []int{0, 1}, 0, par.New(1))
	must.Do(t, b.err)
	must.Equal(t, fmt.Sprint(b.classes), "[2 -1 0 1 1 1 -1 -1]", "classes")
	logits := make([]float32, 2*classes*length)
	for i := range logits {
		logits[i] = float32(i*i%7) / 3
	}
	logits[2*length] += 20 // class 2 of the first position
	s := b.loss(make([]float32, len(logits)), logits)
	must.Equal(t, fmt.Sprint(s.Terms, s.Examples), "5 2", "scored positions and examples")
	p := b.appendPredictions(nil, logits)
	must.Equal(t, len(p[1].Classes), 3, "classes of the second example, without padding")
	must.Equal(t, p[0].Classes[0], 2, "class of the first position")
	must.Equal(t, p[0].Labels[1], -1, "label of the second position")
}

// sliceSet is a set of examples in memory.
type sliceSet []dataset.Example

func (s sliceSet) Len() int         { return len(s) }
func (s sliceSet) Length(i int) int { return s[i].Len }

func (s sliceSet) Example(e *dataset.Example, i, _ int) error {
	*e = s[i]
	return nil
}

// echoes returns n sequences of random signs. The label of a position is the sign two positions
// earlier; the first two positions, and every seventh, are not scored. All sequences have the same
// number of each label, on average: only the labels of the positions can teach the lag.
func echoes(n int, part int) sliceSet {
	const length = 24
	s := make(sliceSet, n)
	for i := range s {
		draw := random.New(7, random.Signal, part, i)
		e := dataset.Example{Len: length - i%5, Label: -1}
		for l := range e.Len {
			e.X = append(e.X, 1)
			if draw.Float64(uint64(l)) < 0.5 {
				e.X[l] = -1
			}
			label := int32(-1)
			if l >= 2 && l%7 != 6 {
				label = int32(e.X[l-2]+1) / 2
			}
			e.Labels = append(e.Labels, label)
		}
		s[i] = e
	}
	return s
}

func TestTrainPositions(t *testing.T) {
	data := &dataset.Dataset{
		Info:  dataset.Info{Name: "positions", Channels: 1, Outputs: 2, Labels: []string{"−", "+"}, PerPosition: true, MaxLen: 24},
		Train: echoes(64, 0), Val: echoes(32, 1), Test: echoes(32, 2),
		Mean: []float32{0}, Std: []float32{1},
	}
	c := run{Config: preset(t, "ts"), Out: filepath.Join(t.TempDir(), "run"), data: data}
	for _, set := range []string{
		"seed=2", "threads=2", "model.pool=none", "model.d_model=8", "model.n_layers=1", "ssm.d_state=8", "ssm.bidirectional=false",
		"ssm.init=dfout", "ssm.xi_min=0.1", "ssm.xi_max=0.5", "optim.lr=0.03", "train.epochs=12", "train.batch=8",
	} {
		must.Do(t, c.Set(set))
	}
	c.Model.Dropout = 0
	tr := must.Get(start(t.Context(), c))(t)
	defer tr.Close()
	must.Do(t, tr.Fit(t.Context()))
	if r := tr.Test(); r.Accuracy < 0.95 || r.N != 32 {
		t.Errorf("accuracy %v on %d test sequences, expected at least 0.95 on 32; a guess has 0.5", r.Accuracy, r.N)
	}
	scored, right := 0, 0
	r := must.Get(Evaluate(t.Context(), tr.Best(), data.Test, EvalOptions{Info: data.Info, Batch: 5, Each: func(p Prediction) error {
		for l, label := range p.Labels {
			if label >= 0 {
				scored++
			}
			if label == p.Classes[l] {
				right++
			}
		}
		return nil
	}}))(t)
	if float64(right)/float64(scored) != r.Accuracy {
		t.Errorf("%d of %d positions of the predictions are right, accuracy %v", right, scored, r.Accuracy)
	}
}

// Sets without a scored position are an error, not a loss of NaN.
func TestNothingScored(t *testing.T) {
	info := dataset.Info{Channels: 2, Outputs: 3, PerPosition: true, MaxLen: 4}
	m := rampNet(t)
	m.Config.Pool = model.PoolNone
	set := sliceSet{{X: make([]float32, 8), Len: 4, Labels: []int32{-1, -1, -1, -1}}}
	must.Reject(Evaluate(t.Context(), m, set, EvalOptions{Info: info}))(t, ErrData, "none of 1 examples has a scored position")
}
