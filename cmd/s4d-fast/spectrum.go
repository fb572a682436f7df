package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"gonum.org/v1/gonum/dsp/fourier"
)

// meanPower is the mean power spectrum of a data set's sequences (paper, Figure 7).
type meanPower struct {
	examples int         // number of examples; the mean is over both sequences of a pair
	length   int         // of the transform: bin k has the angle 2πk/length radians per sample
	power    [][]float64 // [channels][length/2 + 1] mean of |X[k]|²/Len; white noise: 1
}

// meanSpectrum transforms n training examples, selected by the permutation of a seed, or all if
// there are fewer. Samples are normalised with the mean and the standard deviation of the training
// set, as for the network. Tokens have no natural values: their numbers serve as samples,
// normalised with their mean and standard deviation in the selected sequences. Shorter sequences
// are padded with zeros to the longest; each power is divided by the sequence's own length. The
// length of the transform is that of the longest sequence, rounded up to one without a prime factor
// above 7.
func meanSpectrum(ctx context.Context, d *dataset.Dataset, n int, seed uint64) (*meanPower, error) {
	set, ok := d.Train.(dataset.Sized)
	if !ok || set.Len() == 0 || n < 1 {
		return nil, fmt.Errorf("%s: a spectrum of %d training examples: expected at least 1", d.Name, n)
	}
	members := dataset.Order(set.Len(), seed, 0)
	members = members[:min(n, len(members))]
	longest := 0
	for _, i := range members {
		longest = max(longest, set.Length(i))
	}
	s := &meanPower{examples: len(members), length: transformLength(longest)}
	mean, std, err := sampleMoments(ctx, d, set, members)
	if err != nil {
		return nil, err
	}
	s.power = make([][]float64, len(mean))
	for c := range s.power {
		s.power[c] = make([]float64, s.length/2+1)
	}
	plan := fourier.NewFFT(s.length)
	x, bins := make([]float64, s.length), make([]complex128, s.length/2+1)
	sequences := 0
	err = eachSequence(ctx, set, members, func(e *dataset.Example) {
		sequences++
		for c := range mean {
			clear(x)
			for l := range e.Len {
				x[l] = (sample(e, c, l) - mean[c]) / std[c]
			}
			for k, v := range plan.Coefficients(bins, x) {
				s.power[c][k] += (real(v)*real(v) + imag(v)*imag(v)) / float64(e.Len)
			}
		}
	})
	for _, power := range s.power {
		for k := range power {
			power[k] /= float64(sequences)
		}
	}
	return s, err
}

// sampleMoments returns the mean and the standard deviation of the channels, or of the numbers of
// the tokens.
func sampleMoments(ctx context.Context, d *dataset.Dataset, set dataset.Set, members []int) (mean, std []float64, err error) {
	for c := range d.Channels {
		mean, std = append(mean, float64(d.Mean[c])), append(std, float64(d.Std[c]))
	}
	if d.Channels > 0 {
		return mean, std, nil
	}
	var m dataset.Moments
	var numbers []float32
	err = eachSequence(ctx, set, members, func(e *dataset.Example) {
		numbers = numbers[:0]
		for _, t := range e.Tokens {
			numbers = append(numbers, float32(t))
		}
		m.Add(numbers)
	})
	number, deviation := m.MeanStd()
	return []float64{float64(number)}, []float64{float64(deviation)}, err
}

// eachSequence calls visit for every sequence of the examples in epoch 0. The sequences of a pair
// are visited as two examples.
func eachSequence(ctx context.Context, set dataset.Set, members []int, visit func(*dataset.Example)) error {
	var e dataset.Example
	for _, i := range members {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := set.Example(&e, i, 0); err != nil {
			return err
		}
		if e.Len < 1 {
			return errors.New("an example has no samples")
		}
		visit(&e)
		if len(e.Other) > 0 {
			visit(&dataset.Example{Tokens: e.Other, Len: len(e.Other)})
		}
	}
	return nil
}

// sample returns sample l of channel c, or the number of token l.
func sample(e *dataset.Example, c, l int) float64 {
	if len(e.Tokens) > 0 {
		return float64(e.Tokens[l])
	}
	return float64(e.X[c*e.Len+l])
}

// transformLength rounds n up to a length without a prime factor above 7: with one the transform is
// slow.
func transformLength(n int) int {
	for ; ; n++ {
		rest := n
		for _, p := range []int{2, 3, 5, 7} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n
		}
	}
}

// angles returns the angle of every bin in radians per sample, from 0 to π.
func (s *meanPower) angles() []float64 {
	list := make([]float64, s.length/2+1)
	for k := range list {
		list[k] = 2 * math.Pi * float64(k) / float64(s.length)
	}
	return list
}

// decibels returns the power of a channel as 10·log₁₀; −Inf for a power of 0.
func (s *meanPower) decibels(channel int) []float64 {
	db := slices.Clone(s.power[channel])
	for k, p := range db {
		db[k] = 10 * math.Log10(p)
	}
	return db
}
