package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// minMargin is the difference of PyTorch's two largest logits above which predictions must agree.
const minMargin = 1e-3

// agreement is the comparison of two networks' logits.
type agreement struct {
	images        int
	difference    float64 // largest difference of two logits
	decisive      int     // images whose margin is larger than minMargin
	differ        int     // differing predictions among these
	correct       int     // correct predictions of s4d-fast
	theirsCorrect int
}

// compare compares logits, [image][class], with PyTorch's. A NaN makes the difference NaN.
func compare(ours, theirs [][]float32, labels []int) agreement {
	a := agreement{images: len(labels)}
	for i, label := range labels {
		for k, v := range ours[i] {
			a.difference = math.Max(a.difference, math.Abs(float64(v)-float64(theirs[i][k])))
		}
		our, _ := top(ours[i])
		their, margin := top(theirs[i])
		if !(margin <= minMargin) {
			a.decisive++
			if our != their {
				a.differ++
			}
		}
		if our == label {
			a.correct++
		}
		if their == label {
			a.theirsCorrect++
		}
	}
	return a
}

// top returns the class of the largest logit, −1 if all are NaN, and its difference to the second
// largest.
func top(logits []float32) (class int, margin float64) {
	first, second := math.Inf(-1), math.Inf(-1)
	class = -1
	for k, v := range logits {
		switch v := float64(v); {
		case v > first:
			class, first, second = k, v, first
		case v > second:
			second = v
		}
	}
	return class, first - second
}

// measure returns images per second at a batch size, over at least d.
type measure func(batch int, d time.Duration) (float64, error)

// column is one column of the table.
type column struct {
	name    string
	measure measure
}

// rates are the medians of images per second.
type rates struct {
	batches []int
	names   []string
	median  [][]float64 // [batch][column]
}

// measureAll measures every column once per round, so that a disturbance of the machine affects all
// of them.
func measureAll(o *options, all []column) (*rates, error) {
	r := &rates{batches: o.batches}
	for _, c := range all {
		r.names = append(r.names, c.name)
	}
	runs := make([][][]float64, len(o.batches)) // [batch][column][round]
	for range o.rounds {
		for b, batch := range o.batches {
			if runs[b] == nil {
				runs[b] = make([][]float64, len(all))
			}
			for i, c := range all {
				v, err := c.measure(batch, o.time)
				if err != nil {
					return nil, err
				}
				runs[b][i] = append(runs[b][i], v)
			}
		}
	}
	for _, row := range runs {
		var medians []float64
		for _, v := range row {
			medians = append(medians, median(v))
		}
		r.median = append(r.median, medians)
	}
	return r, nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// best returns each column's highest rate.
func (r *rates) best() []float64 {
	best := slices.Clone(r.median[0])
	for _, row := range r.median[1:] {
		for i, v := range row {
			best[i] = max(best[i], v)
		}
	}
	return best
}

// result is the printed result of a checkpoint.
type result struct {
	torch string
	agreement
	*rates // nil: not measured
}

// Names of the columns, each with recomputed and with cached kernels.
const (
	ourName   = "s4d-fast"
	torchName = "PyTorch"
)

func (r *result) String() string {
	var s strings.Builder
	share := func(n int) float64 { return 100 * float64(n) / float64(r.images) }
	fmt.Fprintf(&s, "largest difference of two logits: %.2g\n", r.difference)
	fmt.Fprintf(&s, "predictions that differ: %d of %d with a margin above %g\n", r.differ, r.decisive, minMargin)
	fmt.Fprintf(&s, "correct: %.1f %% (PyTorch %.1f %%)\n", share(r.correct), share(r.theirsCorrect))
	if r.rates == nil {
		return s.String()
	}
	fmt.Fprintf(&s, "\n| batch | %s | ratio | ratio, cached |\n| --- |%s\n", strings.Join(r.names, " | "), strings.Repeat(" ---: |", len(r.names)+2))
	for i, row := range r.median {
		fmt.Fprintf(&s, "| %d %s\n", r.batches[i], cells(row))
	}
	fmt.Fprintf(&s, "| best %s\n", cells(r.best()))
	return s.String()
}

// cells formats a row: images per second of s4d-fast and PyTorch, each with recomputed and cached
// kernels, and the ratio.
func cells(row []float64) string {
	var s strings.Builder
	for _, v := range row {
		fmt.Fprintf(&s, "| %.3g ", v)
	}
	fmt.Fprintf(&s, "| %.1f× | %.1f× |", row[0]/row[2], row[1]/row[3])
	return s.String()
}
