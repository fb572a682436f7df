package train

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// EvalOptions says how to evaluate.
type EvalOptions struct {
	Info    dataset.Info           // of the data that the set is part of
	Batch   int                    // examples at once; 0: 16
	Workers int                    // goroutines; 0: one per processor
	Rate    float64                // training samples that one input sample stands for (spec §1.6); 0: 1
	Context context.Context        // nil: context.Background()
	Each    func(Prediction) error // called at the end for every example, in the set's order; may be nil
}

// Prediction is what a network says to one example.
type Prediction struct {
	Index  int       // in the set
	Path   string    // of the example's file; "" where it has none
	Label  int       // what it is
	Answer int       // the class of the largest logit
	Logits []float32 // [Outputs], or [Outputs][Len] where the network answers at every position
	Target []float32 // regression, shaped as Logits
}

// Evaluate runs a network over a whole set.
func Evaluate(m *model.Model, set dataset.Set, opt EvalOptions) (Result, error) {
	opt.setDefaults()
	if err := fits(m.Config, opt.Info); err != nil {
		return Result{}, err
	}
	if set == nil || set.Len() == 0 {
		return Result{}, fmt.Errorf("train: no examples to evaluate on")
	}
	size := min(opt.Batch, set.Len())
	net, err := convmode.New(m, convmode.Options{
		MaxBatch: size, MaxLen: opt.Info.MaxLen, Workers: opt.Workers, Rate: opt.Rate,
	})
	if err != nil {
		return Result{}, err
	}
	defer net.Close()
	buffers := [2]*batch{newBatch(opt.Info, &m.Meta, size), newBatch(opt.Info, &m.Meta, size)}
	load := newLoader(set, byLength(set, size), 0, buffers)
	defer load.close()
	var total sums
	var scratch []float32
	var said []Prediction
	for b := load.next(); b != nil; b = load.next() {
		if b.err != nil {
			return Result{}, b.err
		}
		logits := net.Forward(b.Batch)
		scratch = append(scratch[:0], logits...)
		total.add(b.loss(scratch, logits))
		if opt.Each != nil {
			said = b.predictions(said, logits)
		}
		load.giveBack(b)
		if opt.Context.Err() != nil {
			return Result{}, context.Cause(opt.Context)
		}
	}
	slices.SortFunc(said, func(a, b Prediction) int { return cmp.Compare(a.Index, b.Index) })
	for _, p := range said {
		if err := opt.Each(p); err != nil {
			return Result{}, err
		}
	}
	return total.result(opt.Info), nil
}

func (o *EvalOptions) setDefaults() {
	if o.Batch == 0 {
		o.Batch = 16
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
}

// predictions appends a copy of what the network says to each example of the batch.
func (b *batch) predictions(said []Prediction, logits []float32) []Prediction {
	width := len(logits) / b.Size
	for i, member := range b.members {
		p := Prediction{
			Index: member, Path: b.examples[i].Path, Label: b.labels[i],
			Logits: slices.Clone(logits[i*width : (i+1)*width]),
		}
		if b.info.Regression {
			p.Target = slices.Clone(b.targets[i*width : (i+1)*width])
		} else {
			p.Answer = argmax(p.Logits)
		}
		said = append(said, p)
	}
	return said
}

// byLength cuts a set into batches of examples of like length, the shortest first.
func byLength(set dataset.Set, size int) [][]int {
	members := make([]int, set.Len())
	for i := range members {
		members[i] = i
	}
	if lengths := dataset.Lengths(set); lengths != nil {
		slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	}
	return slices.Collect(slices.Chunk(members, size))
}

// fits reports where a network does not fit the data.
func fits(c model.Config, info dataset.Info) error {
	encoder, input := model.EncoderLinear, info.Channels
	if info.Channels == 0 {
		encoder, input = model.EncoderEmbedding, info.Vocab
	}
	switch {
	case c.Encoder != encoder:
		return fmt.Errorf("train: encoder %q: task %q wants %q", c.Encoder, info.Task, encoder)
	case c.DInput != input:
		return fmt.Errorf("train: d_input %d: task %q has %d", c.DInput, info.Task, input)
	case c.DOutput != info.Outputs:
		return fmt.Errorf("train: d_output %d: task %q has %d", c.DOutput, info.Task, info.Outputs)
	case (c.Pool == model.PoolNone) != info.PerPosition:
		return fmt.Errorf("train: pool %q: task %q has %s", c.Pool, info.Task, answers(info))
	}
	return nil
}

func answers(info dataset.Info) string {
	if info.PerPosition {
		return "an answer for every position"
	}
	return "one answer for a sequence"
}
