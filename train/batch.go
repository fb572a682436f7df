package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/loss"
)

// batch contains examples of a set, normalised and padded with zeros to the longest of them, with
// their labels or targets.
type batch struct {
	convmode.Batch
	info    dataset.Info
	meta    *model.Meta
	members []int     // [examples] indices in the set; Size is their number, twice that for pairs
	labels  []int     // [examples] classification per sequence
	classes []int32   // classification per position: [examples][Len]; −1: not scored
	targets []float32 // regression: [examples][Outputs], or [examples][Outputs][Len], standardised
	err     error     // of load

	set  dataset.Set // of the current load
	pass int
	read func(worker, i int) // reads example i of the batch
	errs []error             // [examples] of reading them

	examples []dataset.Example
	x        []float32 // memory of X, Tokens, Lengths and targets
	tokens   []int32
	lengths  []int
	values   []float32 // of targets
	marks    []int32   // of classes
	column   []float32 // the logits of a position
	outputs  []sums    // regression: terms and squares of each output in the last loss
}

// newBatch allocates memory for size examples of any length in the data.
func newBatch(info dataset.Info, meta *model.Meta, size int) *batch {
	b := &batch{
		info: info, meta: meta, examples: make([]dataset.Example, size),
		members: make([]int, 0, size), labels: make([]int, size), lengths: make([]int, sequencesPer(info)*size), errs: make([]error, size),
	}
	b.read = func(_, i int) { b.errs[i] = b.set.Example(&b.examples[i], b.members[i], b.pass) }
	if info.Channels == 0 {
		b.tokens = make([]int32, sequencesPer(info)*size*info.MaxLen)
	} else {
		b.x = make([]float32, size*info.Channels*info.MaxLen)
	}
	if info.Regression {
		width := 1
		if info.PerPosition {
			width = info.MaxLen
		}
		b.values = make([]float32, size*info.Outputs*width)
		b.outputs = make([]sums, info.Outputs)
	}
	if info.Framewise() {
		b.marks, b.column = make([]int32, size*info.MaxLen), make([]float32, info.Outputs)
	}
	return b
}

// sequencesPer returns the number of sequences per example.
func sequencesPer(info dataset.Info) int {
	if info.Pairs {
		return 2
	}
	return 1
}

// load fills the batch with the examples members of a set in a pass.
func (b *batch) load(set dataset.Set, members []int, pass int, pool *par.Pool) {
	b.members, b.err = append(b.members[:0], members...), nil
	b.Size, b.Len = sequencesPer(b.info)*len(members), 0
	b.set, b.pass = set, pass
	pool.For(len(members), b.read)
	for i, member := range members {
		e := &b.examples[i]
		if b.err = b.errs[i]; b.err != nil {
			return
		}
		if err := b.info.Check(e); err != nil {
			b.err = fmt.Errorf("train: %s: %w", exampleName(member, e.Path), err)
			return
		}
		b.labels[i] = e.Label
		b.lengths[i*b.Size/len(members)] = e.Len
		if b.info.Pairs {
			b.lengths[2*i+1] = len(e.Other)
		}
		b.Len = max(b.Len, e.Len, len(e.Other))
	}
	b.Lengths = b.lengths[:b.Size]
	if slices.Min(b.Lengths) == b.Len {
		b.Lengths = nil
	}
	b.pack()
}

// slice returns the examples [lo, hi) of the batch. It shares all memory.
func (b *batch) slice(lo, hi int) batch {
	s := *b
	s.members, s.labels, s.outputs = b.members[lo:hi], b.labels[lo:hi], nil
	s.Size = sequencesPer(b.info) * (hi - lo)
	n := len(b.members)
	s.Tokens, s.X, s.Lengths = examplesOf(b.Tokens, lo, hi, n), examplesOf(b.X, lo, hi, n), examplesOf(b.Lengths, lo, hi, n)
	s.targets, s.classes = examplesOf(b.targets, lo, hi, n), examplesOf(b.classes, lo, hi, n)
	return s
}

// examplesOf returns the part of values, of so many examples, for the examples [lo, hi).
func examplesOf[T any](values []T, lo, hi, examples int) []T {
	width := len(values) / examples
	return values[lo*width : hi*width]
}

// pack writes the examples to the arrays that the network reads.
func (b *batch) pack() {
	if b.tokens != nil {
		b.Tokens = b.tokens[:b.Size*b.Len]
	} else {
		b.X = b.x[:b.Size*b.info.Channels*b.Len]
	}
	if b.info.Regression {
		b.targets = b.values[:len(b.members)*b.info.Outputs*b.rowLen()]
	}
	if b.info.Framewise() {
		b.classes = b.marks[:len(b.members)*b.Len]
	}
	for i := range b.members {
		e := &b.examples[i]
		if b.info.Pairs {
			b.packTokens(2*i, e.Tokens)
			b.packTokens(2*i+1, e.Other)
		} else if b.tokens != nil {
			b.packTokens(i, e.Tokens)
		}
		for c := range b.info.Channels {
			row := b.X[(i*b.info.Channels+c)*b.Len:][:b.Len]
			scale, shift := b.meta.Affine(c)
			vek.ScaleShift(row[:e.Len], e.X[c*e.Len:(c+1)*e.Len], scale, shift)
			clear(row[e.Len:])
		}
		if b.info.Regression {
			b.packTarget(i, e)
		}
		if b.info.Framewise() {
			row := b.classes[i*b.Len : (i+1)*b.Len]
			for k := copy(row, e.Labels); k < len(row); k++ {
				row[k] = -1
			}
		}
	}
}

func (b *batch) packTokens(i int, tokens []int32) {
	row := b.Tokens[i*b.Len : (i+1)*b.Len]
	clear(row[copy(row, tokens):])
}

// packTarget writes the standardised target of example i, and NaN to the padding.
func (b *batch) packTarget(i int, e *dataset.Example) {
	width, n := b.rowLen(), 1
	if b.info.PerPosition {
		n = e.Len
	}
	for o := range b.info.Outputs {
		row := b.targets[(i*b.info.Outputs+o)*width:][:width]
		for k := copy(row, e.Target[o*n:(o+1)*n]); k < width; k++ {
			row[k] = nan
		}
		if std, mean := b.meta.OutputScale(o); std != 1 || mean != 0 {
			loss.Standardise(row, row, mean, std)
		}
	}
}

// nan is a target that is not scored.
var nan = float32(math.NaN())

// loader reads the batches of a pass in goroutines of its own, one batch ahead of their use.
type loader struct {
	ready, free chan *batch
	stop        chan struct{}
}

// newLoader starts to read batches of a set, with half of a number of workers, since the others
// train meanwhile. After the last, next returns nil. The caller must call close.
func newLoader(set dataset.Set, batches [][]int, pass int, buffers [2]*batch, workers int) *loader {
	l := &loader{ready: make(chan *batch, 1), free: make(chan *batch, 2), stop: make(chan struct{})}
	for _, b := range buffers {
		l.free <- b
	}
	go func() {
		defer close(l.ready)
		pool := par.New(max(1, workers/2))
		defer pool.Close()
		for _, members := range batches {
			select {
			case b := <-l.free:
				b.load(set, members, pass, pool)
				l.ready <- b
			case <-l.stop:
				return
			}
		}
	}()
	return l
}

// next returns the next batch. The caller may use it until release.
func (l *loader) next() *batch { return <-l.ready }

// release lets the loader reuse a batch.
func (l *loader) release(b *batch) { l.free <- b }

// close stops the loader and waits for its goroutine.
func (l *loader) close() {
	close(l.stop)
	for range l.ready {
	}
}
