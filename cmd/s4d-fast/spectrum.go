package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"gonum.org/v1/gonum/dsp/fourier"
)

// meanSpectrum returns the mean power spectrum of a data set's sequences (paper, Figure 7), and the
// number of examples. A curve per channel has the mean of |X[k]|²/Len in dB over the angle of each
// bin in radians per sample; white noise is at 0 dB.
//
// The n training examples, or all if there are fewer, are selected by the permutation of a seed.
// Samples are normalised with the mean and the standard deviation of the training set, as for the
// network. Tokens have no natural values: their numbers serve as samples, normalised with their
// mean and standard deviation in the selected sequences. Shorter sequences are padded with zeros to
// the longest; each power is divided by the sequence's own length. The length of the transform is
// that of the longest sequence, rounded up to one without a prime factor above 7. The sequences of
// a pair count as two.
func meanSpectrum(ctx context.Context, d *dataset.Dataset, n int, seed uint64) (curves []figure.Curve, examples int, err error) {
	set := d.Train
	if set == nil || set.Len() == 0 {
		return nil, 0, fmt.Errorf("%s: there are no training examples", d.Name)
	}
	members := dataset.Order(set.Len(), seed, 0)
	members = members[:min(n, len(members))]
	longest, sequences := 0, 0
	for _, i := range members {
		longest = max(longest, set.Length(i))
	}
	mean, std, err := sampleMoments(ctx, d, set, members)
	if err != nil {
		return nil, 0, err
	}
	plan := fourier.NewFFT(transformLength(longest))
	x, bins, power := make([]float64, plan.Len()), make([]complex128, plan.Len()/2+1), make([][]float64, len(mean))
	for c := range power {
		power[c] = make([]float64, len(bins))
	}
	err = eachSequence(ctx, set, members, func(e *dataset.Example) {
		sequences++
		for c := range mean {
			clear(x)
			for l := range e.Len {
				v := 0.0
				if len(e.Tokens) > 0 {
					v = float64(e.Tokens[l])
				} else {
					v = float64(e.X[c*e.Len+l])
				}
				x[l] = (v - mean[c]) / std[c]
			}
			for k, v := range plan.Coefficients(bins, x) {
				power[c][k] += (real(v)*real(v) + imag(v)*imag(v)) / float64(e.Len)
			}
		}
	})
	for c := range power {
		curve := channelCurve(d, c)
		for k, p := range power[c] {
			curve.X = append(curve.X, 2*math.Pi*plan.Freq(k))
			curve.Y = append(curve.Y, 10*math.Log10(p/float64(sequences)))
		}
		curves = append(curves, curve)
	}
	return curves, len(members), err
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
	err = eachSequence(ctx, set, members, func(e *dataset.Example) {
		for _, t := range e.Tokens {
			m.Add([]float32{float32(t)})
		}
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
