package train

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// ramps is a set of n examples of two channels and the lengths 1, 2, …. Channel c of example i has
// the values 10i + c, plus the epoch. Its label is i mod 3.
type ramps struct{ n, broken int }

func (r ramps) Len() int       { return r.n }
func (ramps) Length(i int) int { return i + 1 }

var errBroken = errors.New("broken")

func (r ramps) Example(e *dataset.Example, i, epoch int) error {
	if i == r.broken {
		return errBroken
	}
	e.Len, e.Label, e.Path = i+1, i%3, fmt.Sprint("example ", i)
	e.X = e.X[:0]
	for c := range 2 {
		for range e.Len {
			e.X = append(e.X, float32(10*i+c+epoch))
		}
	}
	return nil
}

var rampInfo = dataset.Info{Channels: 2, Outputs: 3, MaxLen: 8}

func TestBatchPads(t *testing.T) {
	b := newBatch(rampInfo, &model.Meta{InputMean: []float32{1, 0}, InputStd: []float32{2, 0.5}}, 2)
	b.load(ramps{8, -1}, []int{7, 7}, 1, par.New(1)) // leaves its values behind
	b.load(ramps{5, -1}, []int{2, 0}, 1, par.New(1))
	if b.err != nil {
		t.Fatal(b.err)
	}
	want := []float32{
		10, 10, 10, // (21 − 1)/2
		44, 44, 44, // 22/0.5
		0, 0, 0, // (1 − 1)/2, then padding
		4, 0, 0, // 2/0.5, then padding
	}
	if b.Size != 2 || b.Len != 3 || !slices.Equal(b.X, want) || !slices.Equal(b.Lengths, []int{3, 1}) || b.labels[0] != 2 {
		t.Errorf("size %d, length %d, lengths %v, labels %v, values\n%v, expected\n%v", b.Size, b.Len, b.Lengths, b.labels, b.X, want)
	}
	b.load(ramps{5, -1}, []int{3}, 0, par.New(1))
	if b.Lengths != nil || b.Len != 4 || len(b.X) != 8 {
		t.Errorf("one example: lengths %v, length %d, %d values", b.Lengths, b.Len, len(b.X))
	}
	b.load(ramps{20, -1}, []int{11}, 0, par.New(1))
	if b.err == nil {
		t.Error("an example longer than MaxLen was accepted")
	}
}

func TestLoader(t *testing.T) {
	buffers := [2]*batch{newBatch(rampInfo, &model.Meta{}, 2), newBatch(rampInfo, &model.Meta{}, 2)}
	l := newLoader(ramps{5, -1}, byLength(ramps{5, -1}, 2), 0, buffers, 4)
	var seen []int
	for b := l.next(); b != nil; b = l.next() {
		seen = append(seen, b.members...)
		l.release(b)
	}
	l.close()
	if !slices.Equal(seen, []int{0, 1, 2, 3, 4}) {
		t.Errorf("members %v", seen)
	}

	l = newLoader(ramps{5, 3}, byLength(ramps{5, -1}, 2), 0, buffers, 4)
	first, second := l.next(), l.next()
	if first.err != nil || !errors.Is(second.err, errBroken) {
		t.Errorf("errors %v, %v, expected the second", first.err, second.err)
	}
	l.close() // in the middle: must not hang
}

func TestBatchAllocatesNothing(t *testing.T) {
	b := newBatch(rampInfo, &model.Meta{InputMean: []float32{1, 0}, InputStd: []float32{2, 3}}, 3)
	members := []int{2, 0, 4}
	var set dataset.Set = constant{}
	pool := par.New(2)
	b.load(set, members, 0, pool)
	must.Equal(t, testing.AllocsPerRun(20, func() { b.load(set, members, 0, pool) }), 0, "allocations per batch")
}

// constant is a set of five examples of one value, generated without allocations.
type constant struct{}

func (constant) Len() int         { return 5 }
func (constant) Length(i int) int { return 3 + i }

func (constant) Example(e *dataset.Example, i, _ int) error {
	e.Len = 3 + i
	e.X = slices.Grow(e.X[:0], 2*e.Len)[:2*e.Len]
	return nil
}
