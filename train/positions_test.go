package train

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// naivePositions is the mean cross-entropy over the scored positions, and its gradient, in float64
// and term by term. Logits: [examples][classes][length].
func naivePositions(logits []float32, labels []int32, classes, length int) (loss float64, gradient []float64) {
	gradient = make([]float64, len(logits))
	scored := 0.0
	for _, label := range labels {
		if label >= 0 {
			scored++
		}
	}
	for p, label := range labels {
		if label < 0 {
			continue
		}
		at := func(c int) int { return (p/length*classes+c)*length + p%length }
		sum := 0.0
		for c := range classes {
			sum += math.Exp(float64(logits[at(c)]))
		}
		loss += math.Log(sum) - float64(logits[at(int(label))])
		for c := range classes {
			gradient[at(c)] = math.Exp(float64(logits[at(c)])) / sum / scored
		}
		gradient[at(int(label))] -= 1 / scored
	}
	return loss / scored, gradient
}

func TestPositionCrossEntropy(t *testing.T) {
	const classes, length = 3, 4
	b := newBatch(dataset.Info{Channels: 1, Outputs: classes, PerPosition: true, MaxLen: length}, &model.Meta{}, 2)
	b.load(sliceSet{
		{X: make([]float32, 4), Len: 4, Labels: []int32{2, -1, 0, 1}},
		{X: make([]float32, 3), Len: 3, Labels: []int32{1, 1, -1}},
	}, []int{0, 1}, 0)
	must.Do(t, b.err)
	labels := []int32{2, -1, 0, 1, 1, 1, -1, -1}
	must.Equal(t, slices.Equal(b.classes, labels), true, "classes %v, expected %v", b.classes, labels)
	logits := make([]float32, 2*classes*length)
	draw := random.New(3, random.Noise, 0, 0)
	for i := range logits {
		a, _ := draw.NormalPair(uint64(2 * i))
		logits[i] = float32(2 * a)
	}
	d := make([]float32, len(logits))
	got := b.loss(d, logits)
	want, gradient := naivePositions(logits, labels, classes, length)
	must.Equal(t, got.Terms, 5, "scored positions")
	must.Equal(t, got.Examples, 2, "examples")
	if r := got.result(b.info); math.Abs(r.Loss-want) > 1e-6*want {
		t.Errorf("loss %v, expected %v", r.Loss, want)
	}
	for i, g := range gradient {
		if math.Abs(float64(d[i])-g) > 1e-7 {
			t.Errorf("gradient %d: %v, expected %v", i, d[i], g)
		}
		if g == 0 && d[i] != 0 {
			t.Errorf("gradient %d of a position that is not scored: %v, expected 0", i, d[i])
		}
	}
	numericGradient(t, b, logits)

	for l, c := range map[int]int{0: 2, 2: 1, 3: 1} { // the first is right, the others are not
		logits[c*length+l] += 20
	}
	logits[2*length+3] += 40
	s := b.loss(d, logits)
	r := s.result(b.info)
	if right := rightPositions(logits, labels, classes, length); s.Correct != right || r.Accuracy != float64(right)/5 {
		t.Errorf("%d of %d positions are right, accuracy %v; expected %d", s.Correct, s.Terms, r.Accuracy, right)
	}
	p := b.appendPredictions(nil, logits)
	must.Equal(t, len(p[1].Classes), 3, "classes of the second example, without padding")
	must.Equal(t, p[0].Classes[0], 2, "class of the first position")
	must.Equal(t, p[0].Labels[1], -1, "label of the second position")
	must.Equal(t, len(p[0].Logits), 0, "logits")
}

// rightPositions counts the scored positions whose largest logit is that of the label.
func rightPositions(logits []float32, labels []int32, classes, length int) (right int) {
	for p, label := range labels {
		best := 0
		at := func(c int) float32 { return logits[(p/length*classes+c)*length+p%length] }
		for c := range classes {
			if at(c) > at(best) {
				best = c
			}
		}
		if int(label) == best {
			right++
		}
	}
	return right
}

// sliceSet is a set of examples in memory.
type sliceSet []dataset.Example

func (s sliceSet) Len() int         { return len(s) }
func (s sliceSet) Length(i int) int { return s[i].Len }

func (s sliceSet) Example(e *dataset.Example, i, _ int) error {
	*e = s[i]
	return nil
}

func TestLabelErrors(t *testing.T) {
	x := make([]float32, 2)
	positions := dataset.Info{Channels: 1, Outputs: 3, PerPosition: true, MaxLen: 2}
	whole := dataset.Info{Channels: 1, Outputs: 3, MaxLen: 2}
	for _, c := range []struct {
		info dataset.Info
		e    dataset.Example
		want string
	}{
		{positions, dataset.Example{Labels: []int32{0, 3}}, "label 3 at position 1, expected −1 … 2"},
		{positions, dataset.Example{Labels: []int32{-2, 0}}, "label -2 at position 0"},
		{positions, dataset.Example{Labels: []int32{0}}, "1 labels, expected one for each of 2 positions"},
		{whole, dataset.Example{Label: 3}, "label 3, expected 0 … 2"},
		{whole, dataset.Example{Label: -1}, "label -1, expected 0 … 2"},
	} {
		b := newBatch(c.info, &model.Meta{}, 1)
		c.e.X, c.e.Len, c.e.Path = x, 2, "clip"
		b.load(sliceSet{c.e}, []int{0}, 0)
		must.Fail(t, b.err, c.want, "example 0 (clip)")
	}
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
		"ssm.xi_min=0.1", "ssm.xi_max=0.5", "optim.lr=0.03", "train.epochs=12", "train.batch=8",
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

	b := newBatch(info, &model.Meta{}, 1)
	b.load(set, []int{0}, 0)
	d := slices.Repeat([]float32{1}, 12)
	must.Equal(t, b.loss(d, make([]float32, 12)), sums{Examples: 1}, "sums")
	must.Equal(t, slices.Max(d) == 0 && slices.Min(d) == 0, true, "gradient %v, expected zeros", d)
}
