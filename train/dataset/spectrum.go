package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Spectrum is the mean power spectrum of a data set's sequences (paper, Figure 7).
type Spectrum struct {
	Examples int         // number of examples; the mean is over both sequences of a pair
	Length   int         // of the transform: bin k has the angle 2πk/Length radians per sample
	Power    [][]float64 // [channels][Length/2 + 1] mean of |X[k]|²/Len; white noise: 1
}

// MeanSpectrum transforms n training examples, selected by the permutation of a seed, or all if
// there are fewer. Samples are normalised with the mean and the standard deviation of the training
// set, as for the network. Tokens have no natural values: their numbers serve as samples,
// normalised with their mean and standard deviation in the selected sequences. Shorter sequences
// are padded with zeros to the longest; each power is divided by the sequence's own length. The
// length of the transform is that of the longest sequence, rounded up to one without a prime factor
// above 7.
func (d *Dataset) MeanSpectrum(ctx context.Context, n int, seed uint64) (*Spectrum, error) {
	set, ok := d.Train.(Sized)
	if !ok || set.Len() == 0 || n < 1 {
		return nil, fmt.Errorf("dataset: %s: a spectrum of %d training examples: expected at least 1", d.Name, n)
	}
	members := Order(set.Len(), seed, 0)
	members = members[:min(n, len(members))]
	longest := 0
	for _, i := range members {
		longest = max(longest, set.Length(i))
	}
	s := &Spectrum{Examples: len(members), Length: transformLength(longest)}
	mean, std, err := d.sampleMoments(ctx, set, members)
	if err != nil {
		return nil, err
	}
	s.Power = make([][]float64, len(mean))
	for c := range s.Power {
		s.Power[c] = make([]float64, s.Length/2+1)
	}
	plan := fourier.NewFFT(s.Length)
	x, bins := make([]float64, s.Length), make([]complex128, s.Length/2+1)
	sequences := 0
	err = eachSequence(ctx, set, members, func(e *Example) {
		sequences++
		for c := range mean {
			clear(x)
			for l := range e.Len {
				x[l] = (e.sample(c, l) - mean[c]) / std[c]
			}
			for k, v := range plan.Coefficients(bins, x) {
				s.Power[c][k] += (real(v)*real(v) + imag(v)*imag(v)) / float64(e.Len)
			}
		}
	})
	for _, power := range s.Power {
		for k := range power {
			power[k] /= float64(sequences)
		}
	}
	return s, err
}

// sampleMoments returns the mean and the standard deviation of the channels, or of the numbers of
// the tokens.
func (d *Dataset) sampleMoments(ctx context.Context, set Set, members []int) (mean, std []float64, err error) {
	for c := range d.Channels {
		mean, std = append(mean, float64(d.Mean[c])), append(std, float64(d.Std[c]))
	}
	if d.Channels > 0 {
		return mean, std, nil
	}
	var m Moments
	var numbers []float32
	err = eachSequence(ctx, set, members, func(e *Example) {
		numbers = numbers[:0]
		for _, t := range e.Tokens {
			numbers = append(numbers, float32(t))
		}
		m.Add(numbers)
	})
	_, s := m.MeanStd()
	return []float64{m.mean}, []float64{float64(s)}, err
}

// eachSequence calls visit for every sequence of the examples in epoch 0. The sequences of a pair
// are visited as two examples.
func eachSequence(ctx context.Context, set Set, members []int, visit func(*Example)) error {
	var e Example
	for _, i := range members {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := set.Example(&e, i, 0); err != nil {
			return err
		}
		if e.Len < 1 {
			return errors.New("dataset: an example has no samples")
		}
		visit(&e)
		if len(e.Other) > 0 {
			visit(&Example{Tokens: e.Other, Len: len(e.Other)})
		}
	}
	return nil
}

// sample returns sample l of channel c, or the number of token l.
func (e *Example) sample(c, l int) float64 {
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

// Angles returns the angle of every bin in radians per sample, from 0 to π.
func (s *Spectrum) Angles() []float64 {
	angles := make([]float64, s.Length/2+1)
	for k := range angles {
		angles[k] = 2 * math.Pi * float64(k) / float64(s.Length)
	}
	return angles
}

// Decibels returns the power of a channel as 10·log₁₀; −Inf for a power of 0.
func (s *Spectrum) Decibels(channel int) []float64 {
	db := slices.Clone(s.Power[channel])
	for k, p := range db {
		db[k] = 10 * math.Log10(p)
	}
	return db
}
