package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// EvalOptions says how to evaluate.
type EvalOptions struct {
	Info      dataset.Info           // of the data that the set is part of
	Batch     int                    // examples at once; 0: 16
	Workers   int                    // goroutines; 0: one per processor
	StepScale float64                // training samples that one input sample stands for (docs/maths.md §1.6); 0: 1
	Context   context.Context        // nil: context.Background()
	Each      func(Prediction) error // called at the end for every example, in the set's order; may be nil
}

// Prediction is what a network says to one example.
type Prediction struct {
	Index  int       // in the set
	Path   string    // of the example's file; "" where it has none
	Label  int       // what it is
	Class  int       // the class of the largest logit
	Logits []float32 // [Outputs], or [Outputs][Len] with an output at every position; of a regression in the target's unit
	Target []float32 // regression: shaped as Logits, in the target's unit
}

// Evaluate runs a network over a whole set. A network that does not fit the data is an ErrData, a value out of range
// in the options an ErrConfig. Where outputs are no numbers the error names the first example of which that is true.
func Evaluate(m *model.Model, set dataset.Set, opt EvalOptions) (Result, error) {
	if err := opt.resolve(); err != nil {
		return Result{}, err
	}
	if err := cmp.Or(fits(m.Config, opt.Info), sameLabels(m.Meta.Labels, opt.Info.Labels)); err != nil {
		return Result{}, dataError{err}
	}
	if set == nil || set.Len() == 0 {
		return Result{}, dataError{errors.New("train: no examples to evaluate on")}
	}
	size := min(opt.Batch, set.Len())
	sizes := opt.sizes(m.Config, size)
	if err := checkMemory(sizes.Memory(m.Config), "batch %d, sequences of %d: evaluation", size, sizes.MaxLen); err != nil {
		return Result{}, err
	}
	net, err := convmode.New(m, sizes)
	if err != nil {
		return Result{}, configError{fmt.Errorf("train: %w", err)}
	}
	defer net.Close()
	buffers := [2]*batch{newBatch(opt.Info, &m.Meta, size), newBatch(opt.Info, &m.Meta, size)}
	load := newLoader(set, byLength(set, size), 0, buffers)
	defer load.close()
	var total sums
	var scratch []float32
	var said []Prediction
	var wild *wildOutput
	for b := load.next(); b != nil; b = load.next() {
		if b.err != nil {
			return Result{}, dataError{b.err}
		}
		logits := net.Forward(b.Batch)
		wild = wild.earlier(b.wildOutput(logits))
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
	r := total.result(opt.Info)
	if wild != nil {
		return r, wild
	}
	if math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0) {
		return r, fmt.Errorf("train: the loss is %v: %w", r.Loss, errNotFinite)
	}
	slices.SortFunc(said, func(a, b Prediction) int { return cmp.Compare(a.Index, b.Index) })
	for _, p := range said {
		if err := opt.Each(p); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}

// maxKept bounds the bytes of kernels that Evaluate keeps from one batch to the next.
const maxKept = 256 << 20

// sizes returns how to run batches of so many examples. The weights do not change meanwhile, so kernels are kept where they
// have room.
func (o *EvalOptions) sizes(c model.Config, examples int) convmode.Options {
	anew := convmode.Options{MaxBatch: examples * towers(o.Info), MaxLen: o.Info.MaxLen, Workers: o.Workers, StepScale: o.StepScale}
	kept := anew
	kept.Fixed = true
	if kept.Memory(c)-anew.Memory(c) > maxKept {
		return anew
	}
	return kept
}

// Sample runs a network over the first validation example of a task with an answer for every position and returns the
// first channel of its input, of what is asked for and of the network's output. A network or data that do not fit are an
// ErrData.
func Sample(m *model.Model, data *dataset.Dataset, workers int) (x, target, output []float32, err error) {
	if !data.PerPosition || data.Channels == 0 {
		return nil, nil, nil, dataError{fmt.Errorf("train: sample: task %q has %s", data.Task, answers(data.Info))}
	}
	var e dataset.Example
	if err := data.Val.Example(&e, 0, 0); err != nil {
		return nil, nil, nil, dataError{err}
	}
	_, err = Evaluate(m, first{data.Val}, EvalOptions{
		Info: data.Info, Workers: workers,
		Each: func(p Prediction) error {
			output = append(output, p.Logits[:e.Len]...)
			return nil
		},
	})
	return e.X[:e.Len], e.Target[:e.Len], output, err
}

// first is a set's first example.
type first struct{ dataset.Set }

func (first) Len() int { return 1 }

func (o *EvalOptions) resolve() error {
	if err := within([]setting{{"batch", o.Batch, 0, maxExamples}, {"threads", o.Workers, 0, maxThreads}}); err != nil {
		return err
	}
	if o.Batch == 0 {
		o.Batch = 16
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	return nil
}

// predictions appends a copy of what the network says to each example of the batch.
func (b *batch) predictions(said []Prediction, logits []float32) []Prediction {
	width := len(logits) / len(b.members)
	for i, member := range b.members {
		p := Prediction{
			Index: member, Path: b.examples[i].Path, Label: b.labels[i],
			Logits: slices.Clone(logits[i*width : (i+1)*width]),
		}
		if b.info.Regression {
			p.Target = slices.Clone(b.targets[i*width : (i+1)*width])
			for o := range b.info.Outputs {
				scale, shift := b.meta.OutputScale(o)
				for _, x := range [][]float32{p.Logits, p.Target} {
					row := x[o*b.rowLen() : (o+1)*b.rowLen()]
					vek.ScaleShift(row, row, scale, shift)
				}
			}
		} else {
			p.Class = model.ArgMax(p.Logits)
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
	encoder, input := info.Encoder()
	switch {
	case c.Encoder != encoder:
		return fmt.Errorf("train: encoder %q: task %q wants %q", c.Encoder, info.Task, encoder)
	case c.DInput != input:
		return fmt.Errorf("train: d_input %d: task %q has %d", c.DInput, info.Task, input)
	case c.DOutput != info.Outputs:
		return fmt.Errorf("train: d_output %d: task %q has %d", c.DOutput, info.Task, info.Outputs)
	case c.Pairs && !info.Pairs:
		return fmt.Errorf("train: the network compares two sequences: task %q has one an example", info.Task)
	case info.Pairs && !c.Pairs:
		return fmt.Errorf("train: the network reads one sequence: task %q has two an example", info.Task)
	case (c.Pool == model.PoolNone) != info.PerPosition:
		return fmt.Errorf("train: pool %q: task %q has %s", c.Pool, info.Task, answers(info))
	}
	return nil
}

// sameLabels reports the first label in which a network that names its classes differs from the data.
func sameLabels(network, data []string) error {
	if len(network) == 0 {
		return nil
	}
	for i := range max(len(network), len(data)) {
		switch {
		case i >= len(data):
			return fmt.Errorf("train: label %d is %q in the model; the data have %d labels", i, network[i], len(data))
		case i >= len(network):
			return fmt.Errorf("train: label %d is %q in the data; the model has %d labels", i, data[i], len(network))
		case network[i] != data[i]:
			return fmt.Errorf("train: label %d is %q in the model and %q in the data", i, network[i], data[i])
		}
	}
	return nil
}

func answers(info dataset.Info) string {
	if info.PerPosition {
		return "an answer for every position"
	}
	return "one answer for a sequence"
}
