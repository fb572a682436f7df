package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/bench"
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

func (a agreement) String() string {
	share := func(n int) float64 { return 100 * float64(n) / float64(a.images) }
	return fmt.Sprintf("largest difference of two logits: %.2g\n", a.difference) +
		fmt.Sprintf("predictions that differ: %d of %d with a margin above %g\n", a.differ, a.decisive, minMargin) +
		fmt.Sprintf("correct: %.1f %% (PyTorch %.1f %%)\n", share(a.correct), share(a.theirsCorrect))
}

// rates are images per second: s4d-fast with recomputed and with cached kernels, then PyTorch.
type rates [4]float64

// measureAll returns the medians per batch size. It measures everything once per round, so that a
// disturbance of the machine affects all.
func (o *options) measureAll(all [4]rate) ([]rates, error) {
	runs := make([][4][]float64, len(o.batches))
	for range o.rounds {
		for b, batch := range o.batches {
			for i, measure := range all {
				v, err := measure(batch, o.time)
				if err != nil {
					return nil, err
				}
				runs[b][i] = append(runs[b][i], v)
			}
		}
	}
	medians := make([]rates, len(runs))
	for b := range runs {
		for i, x := range runs[b] {
			medians[b][i] = bench.Median(x)
		}
	}
	return medians, nil
}

// table formats rates per batch size, and the best of each column.
func (o *options) table(all []rates) string {
	s := "\n| batch | s4d-fast | s4d-fast, cached | PyTorch | PyTorch, cached | ratio | ratio, cached |\n| --- |" + strings.Repeat(" ---: |", 6) + "\n"
	var best rates
	row := func(name any, r rates) {
		s += fmt.Sprintf("| %v | %.3g | %.3g | %.3g | %.3g | %.1f× | %.1f× |\n", name, r[0], r[1], r[2], r[3], r[0]/r[2], r[1]/r[3])
	}
	for b, r := range all {
		row(o.batches[b], r)
		for i, v := range r {
			best[i] = max(best[i], v)
		}
	}
	row("best", best)
	return s
}
