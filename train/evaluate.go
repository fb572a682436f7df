package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// EvalOptions are the options of Evaluate.
type EvalOptions struct {
	Info      dataset.Info           // description of the data
	Batch     int                    // examples per batch; 0: 16
	Workers   int                    // goroutines; 0: one per processor
	StepScale float64                // sampling rate of training divided by that of the input (docs/maths.md §1.6); 0: 1
	Each      func(Prediction) error // called for every example, in order, at the end; may be nil

	exchange Exchange // shares the batches with other processes; nil: alone, as required with Each
}

// Prediction is a network's output for one example.
type Prediction struct {
	Index int    // in the set
	Path  string // file of the example; "" if it has none
	Label int    // true class
	Class int    // predicted class, that of the largest logit
	// Logits are the outputs: [Outputs], or [Outputs][Len] for a regression with a target per
	// position. Target has the same shape. For a regression, both are in the unit of the target.
	Logits, Target []float32
	// Labels and Classes are the true and the predicted class of every position, [Len], of a
	// classification per position. Label, Class and Logits are then not set. Positions with the
	// label −1 are not scored.
	Labels, Classes []int32
}

// Evaluate runs a network over a whole set. If ctx is cancelled, the error is the cause of ctx. A
// network that does not fit the data is an ErrData; an option that is out of range is an ErrConfig.
// If outputs are NaN or infinite, the error names the first such example.
func Evaluate(ctx context.Context, m *model.Model, set dataset.Set, opt EvalOptions) (Result, error) {
	if err := opt.resolve(); err != nil {
		return Result{}, err
	}
	if err := cmp.Or(sameLabels(m.Meta.Labels, opt.Info.Labels), fits(m.Config, opt.Info)); err != nil {
		return Result{}, DataError(err)
	}
	if set == nil || set.Len() == 0 {
		return Result{}, DataError(errors.New("train: no examples to evaluate on"))
	}
	size := min(opt.Batch, set.Len())
	sizes := opt.sizes(m.Config, size)
	if err := checkMemory(sizes.Memory(m.Config), "batch %d, %d sequences of up to %d: evaluation", size, set.Len(), opt.Info.MaxLen); err != nil {
		return Result{}, err
	}
	net, err := convmode.New(m, sizes)
	if err != nil {
		return Result{}, ConfigError(fmt.Errorf("train: %w", err))
	}
	defer net.Close()
	e, err := opt.run(ctx, m, net, set, size)
	if err != nil {
		return Result{}, err
	}
	s := sumsOf(e.total)
	r := s.result(opt.Info)
	for o := range slices.Chunk(e.total[tallyFields:], 2) {
		r.OutputRMSE = append(r.OutputRMSE, math.Sqrt(o[1]/o[0]))
	}
	switch {
	case e.failed != nil:
		return r, e.failed
	case s.Terms == 0:
		return r, DataError(fmt.Errorf("train: none of %d examples has a scored position, expected at least one", r.N))
	case e.total[failedField] > 0:
		return r, fmt.Errorf("train: an output on another rank: %w", errNotFinite)
	case math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0):
		return r, fmt.Errorf("train: the loss is %v: %w", r.Loss, errNotFinite)
	}
	slices.SortFunc(e.predictions, func(a, b Prediction) int { return cmp.Compare(a.Index, b.Index) })
	for _, p := range e.predictions {
		if err := opt.Each(p); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}

// evaluation has the results of all batches of a set.
type evaluation struct {
	total []float64 // a tally, of all batches of all ranks

	// Of this rank.
	failed      *nonFinite // the first example whose output is not finite; nil: none
	predictions []Prediction
}

// run evaluates the set in batches of so many examples. Each rank evaluates the batches whose
// number is its rank modulo the number of ranks.
func (o *EvalOptions) run(ctx context.Context, m *model.Model, net *convmode.Net, set dataset.Set, size int) (e evaluation, err error) {
	if o.exchange == nil {
		o.exchange = alone{}
	}
	rank, ranks := o.exchange.Rank(), o.exchange.Ranks()
	batches := byLength(set, size)
	var own [][]int
	for i := rank; i < len(batches); i += ranks {
		own = append(own, batches[i])
	}
	load := newLoader(set, own, 0, [2]*batch{newBatch(o.Info, &m.Meta, size), newBatch(o.Info, &m.Meta, size)}, o.Workers)
	defer load.close()
	width := tallyFields
	if o.Info.Regression {
		width += 2 * o.Info.Outputs
	}
	values := make([]float64, 1+width*len(batches)) // the number of ranks that stop, and the tallies
	var scratch []float32
	for i := rank; i < len(batches) && ctx.Err() == nil; i += ranks {
		b := load.next()
		if b.err != nil {
			return e, DataError(b.err)
		}
		logits := net.Forward(b.Batch)
		scratch = append(scratch[:0], logits...)
		failed := b.tally(values[1+i*width:][:width], scratch, logits)
		if failed != nil && (e.failed == nil || failed.Index < e.failed.Index) {
			e.failed = failed
		}
		if o.Each != nil {
			e.predictions = b.appendPredictions(e.predictions, logits)
		}
		load.release(b)
	}
	if ctx.Err() != nil {
		values[0] = 1
	}
	if err := o.exchange.SumStatistics(values); err != nil {
		return e, err
	}
	if values[0] > 0 {
		return e, cmp.Or(context.Cause(ctx), ErrInterrupted)
	}
	e.total = make([]float64, width)
	for t := range slices.Chunk(values[1:], width) {
		for i, v := range t {
			e.total[i] += v
		}
	}
	return e, nil
}

// A tally has the results of a batch as numbers, which ranks can sum: the values of sums, 1 if the
// output of an example is not finite, otherwise 0, and for each output of a regression its terms
// and squares.
const (
	failedField = sumFields
	tallyFields = sumFields + 1 // and two per output
)

// tally sets the tally t of the batch. It overwrites scratch. It returns an error for the first
// example whose output is not finite.
func (b *batch) tally(t []float64, scratch, logits []float32) *nonFinite {
	s, failed := b.loss(scratch, logits), b.nonFinite(logits)
	values := s.values()
	copy(t, values[:])
	if failed != nil {
		t[failedField] = 1
	}
	for o, sums := range b.outputs {
		t[tallyFields+2*o], t[tallyFields+2*o+1] = float64(sums.Terms), sums.Squares
	}
	return failed
}

// maxKernels bounds the memory in bytes for kernels that Evaluate keeps between batches.
const maxKernels = 256 << 20

// sizes returns the options for batches of so many examples. As the weights do not change, the
// kernels are kept between batches, up to maxKernels.
func (o *EvalOptions) sizes(c model.Config, examples int) convmode.Options {
	fresh := convmode.Options{MaxBatch: examples * sequencesPer(o.Info), MaxLen: o.Info.MaxLen, Workers: o.Workers, StepScale: o.StepScale}
	fixed := fresh
	fixed.Fixed = true
	if fixed.Memory(c)-fresh.Memory(c) > maxKernels {
		return fresh
	}
	return fixed
}

func (o *EvalOptions) resolve() error {
	if err := within(setting{"batch", o.Batch, 0, maxExamples}, setting{"threads", o.Workers, 0, MaxThreads}); err != nil {
		return err
	}
	o.Batch = cmp.Or(o.Batch, 16)
	o.Workers = par.Workers(o.Workers)
	return nil
}

// appendPredictions appends the prediction for each example of the batch.
func (b *batch) appendPredictions(dst []Prediction, logits []float32) []Prediction {
	row := b.rowLen()
	width := b.info.Outputs * row
	for i, member := range b.members {
		p, n := Prediction{Index: member, Path: b.examples[i].Path}, b.validLen(i)
		own := logits[i*width : (i+1)*width]
		switch {
		case b.info.Framewise():
			p.Labels, p.Classes = slices.Clone(b.classes[i*row:][:n]), make([]int32, n)
			for c := range b.info.Outputs {
				for l, v := range own[c*row:][:n] {
					if v > own[int(p.Classes[l])*row+l] {
						p.Classes[l] = int32(c)
					}
				}
			}
		case b.info.Regression:
			for o := range b.info.Outputs { // without padding
				scale, shift := b.meta.OutputScale(o)
				p.Logits = append(p.Logits, own[o*row:][:n]...)
				p.Target = append(p.Target, b.targets[i*width+o*row:][:n]...)
				for _, x := range [][]float32{p.Logits[o*n:], p.Target[o*n:]} {
					vek.ScaleShift(x, x, scale, shift)
				}
			}
		default:
			p.Label, p.Class, p.Logits = b.labels[i], model.ArgMax(own), slices.Clone(own)
		}
		dst = append(dst, p)
	}
	return dst
}

// byLength splits a set into batches of examples of similar length, the shortest first.
func byLength(set dataset.Set, size int) [][]int {
	members := make([]int, set.Len())
	for i := range members {
		members[i] = i
	}
	lengths := dataset.Lengths(set)
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(lengths[a], lengths[b]) })
	return slices.Collect(slices.Chunk(members, size))
}

// fits returns an error if a network does not fit the data.
func fits(c model.Config, info dataset.Info) error {
	encoder, input := info.Encoder()
	switch {
	case c.Encoder != encoder:
		return fmt.Errorf("train: encoder %q: data %q require %q", c.Encoder, info.Name, encoder)
	case c.DInput != input:
		return fmt.Errorf("train: d_input %d: data %q require %d", c.DInput, info.Name, input)
	case c.DOutput != info.Outputs:
		return fmt.Errorf("train: d_output %d: data %q require %d", c.DOutput, info.Name, info.Outputs)
	case c.Pairs && !info.Pairs:
		return fmt.Errorf("train: the network compares two sequences: an example of data %q has one", info.Name)
	case info.Pairs && !c.Pairs:
		return fmt.Errorf("train: the network reads one sequence: an example of data %q has two", info.Name)
	case info.Forecasts() && c.SSM.Bidirectional:
		return fmt.Errorf("train: ssm.bidirectional: a forecast requires a causal network: expected false")
	case (c.Pool == model.PoolNone) != info.PerPosition:
		return fmt.Errorf("train: pool %q: data %q have %s", c.Pool, info.Name, outputsOf(info))
	}
	return nil
}

// sameLabels returns an error if a model with labels has other ones than the data.
func sameLabels(network, data []string) error {
	if len(network) == 0 || slices.Equal(network, data) {
		return nil
	}
	there, here := suggest.Difference(network, data)
	return fmt.Errorf("train: the labels are %s in the model, %s in the data", there, here)
}

func outputsOf(info dataset.Info) string {
	switch {
	case info.Framewise():
		return "one class per position"
	case info.PerPosition:
		return "one output per position"
	}
	return "one output per sequence"
}
