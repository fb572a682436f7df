// Package dataset describes the data that networks are trained on, and has sets of examples in
// memory.
//
// A Dataset has up to three sets (training, validation and test) and a description of their
// examples. FromSlices makes one of examples in memory. Package rows makes one of time series in
// tables and arrays, package recordings of folders of sound. Package train/task loads published
// data sets.
//
// A program may also implement Set. Samples are float32, one channel after the other, and not
// normalised, because package train uses Mean and Std of the training set. Generated data should be
// a function of (seed, pass, example) alone, so that a resumed run gets the same data.
package dataset

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/model"
)

// Info describes examples and the network that fits them.
type Info struct {
	Name        string // of the data, in messages
	Channels    int    // input channels; 0: the input is tokens
	Vocab       int    // number of different tokens
	Outputs     int    // number of classes, or of target values of a regression
	Labels      []string
	Regression  bool    // targets are numbers, otherwise classes
	PerPosition bool    // one target or label per position, otherwise one per sequence
	Pairs       bool    // an example is two sequences of tokens, which the network compares
	SampleRate  float64 // Hz, of the samples; 0: unknown
	MaxLen      int     // length of the longest example

	// Filterbank computed the examples from audio at SampleRate. Nil: the examples are samples.
	Filterbank *filterbank.Config
	// Series describes rows of named columns and the task of the network. Nil: other data.
	Series *model.Series

	// For plots. The zero values mean: unknown, or not applicable.
	Delay        int      // samples from the input to the target
	ChannelNames []string // of the input
}

// Encoder returns the kind of encoder that the data require, and its number of inputs (d_input).
func (i Info) Encoder() (kind model.Encoder, inputs int) {
	if i.Channels == 0 {
		return model.EncoderEmbedding, i.Vocab
	}
	return model.EncoderLinear, i.Channels
}

// Framewise reports whether examples have one class per position.
func (i Info) Framewise() bool { return i.PerPosition && !i.Regression }

// Forecasts reports whether the targets are values of later rows. The network must then be causal.
func (i Info) Forecasts() bool { return i.Series != nil && i.Series.Forecasts() }

// Example is one sequence with its label or target.
type Example struct {
	X      []float32 // [Channels][Len]
	Tokens []int32   // [Len], instead of X
	Other  []int32   // Pairs: the second sequence, at least one token
	Len    int
	Label  int       // index into Info.Labels; −1 for a regression and for labels per position
	Labels []int32   // classification per position: [Len], indices into Info.Labels; −1: not scored
	Target []float32 // regression: [Outputs], or [Outputs][Len] if per position; NaN there: not scored
	Path   string    // file of the recording; "" if it has none
}

// Set is a list of examples.
type Set interface {
	Len() int
	// Length returns the length of example i without decoding it. For a pair, it is that of the
	// longer sequence.
	Length(i int) int
	// Example fills dst with example i of [0, Len) and reuses its slices. The passes over a
	// training set count from 0; an epoch has one or several (Dataset.EpochSteps). Generated
	// training data depend on the pass, recorded data do not. Concurrent calls need different dst.
	Example(dst *Example, i, pass int) error
}

// ForecastSet is a Set of examples of forecasts. The target at a position is the value of a column
// Horizon rows later. A target of NaN is not scored.
type ForecastSet interface {
	Set
	// Naive writes naive forecasts of the targets of example i in pass 0, in the shape of the
	// targets, [Outputs][Len]. Those in last repeat the last known value of the column. Those in
	// season repeat the last known value that is a whole number of seasons before the target. Where
	// no such value is known, and without a season, the forecast is NaN.
	Naive(last, season []float32, i int) error
}

// ShiftedSet is a training set of pieces of longer recordings, which begin at other positions in
// every pass.
type ShiftedSet interface {
	Set
	Unshifted() Set // the pieces at fixed positions; every position is in one of them
}

// Dataset is the data of a run. A split without examples is nil.
type Dataset struct {
	Info
	Train, Val, Test Set
	// NoValidation: the training set is too small to spare a validation set. Val has its examples,
	// and the result of a run is its last epoch instead of the best one.
	NoValidation bool
	// EpochSteps is the least number of steps per epoch, which passes several times over a small
	// training set. 0: an epoch is one pass.
	EpochSteps int
	// Mean and Std of each channel over the training set, without padding; nil without a training
	// set. A constant channel has Std 1. The network reads (x − Mean)/Std.
	Mean, Std []float32
	// TargetMean and TargetStd of each output of a regression over the training set. A constant
	// target has TargetStd 1. Nil: targets are not standardised.
	TargetMean, TargetStd []float32
	Dir                   string             // folder that contains the files of the examples; "": none
	Recordings            model.Fingerprints // that a word detector learns from; nil: not known
	Notes                 []string           // for the user, one line each: what was left out or assumed
	// Options are the options of the data that a model file records (model.Meta.Data), without
	// folders. Nil: those in the configuration of the run.
	Options model.Settings
}

// Split returns a set for an evaluation by its name: train, val, test, or all for the concatenation
// of these. The windows of a forecast's training set are not shifted, so that every row counts
// once. A set without examples is an error.
func (d *Dataset) Split(name string) (Set, error) {
	var s Set
	switch name {
	case "train":
		s = unshifted(d.Train)
	case "val":
		s = d.Val
	case "test":
		s = d.Test
	case "all":
		return d.all(), nil
	default:
		return nil, fmt.Errorf("dataset: unknown split %q: expected train, val, test or all", name)
	}
	if s == nil {
		return nil, fmt.Errorf("dataset: %s: there are no %s examples", d.Name, name)
	}
	return s, nil
}

// unshifted returns a set without the random positions of training.
func unshifted(s Set) Set {
	if shifted, ok := s.(ShiftedSet); ok {
		return shifted.Unshifted()
	}
	return s
}

// all returns the examples of every split, each once: a test set that is also the validation set is
// not repeated.
func (d *Dataset) all() Set {
	var c concat
	for _, s := range []Set{unshifted(d.Train), d.Val, d.Test} {
		repeated := func(before Set) bool { return reflect.TypeOf(s).Comparable() && before == s }
		if s != nil && !slices.ContainsFunc(c, repeated) {
			c = append(c, s)
		}
	}
	return c
}

type concat []Set

func (c concat) Len() int {
	n := 0
	for _, s := range c {
		n += s.Len()
	}
	return n
}

// at returns the set that holds example i, and i's index in it.
func (c concat) at(i int) (Set, int) {
	for _, s := range c {
		if i < s.Len() {
			return s, i
		}
		i -= s.Len()
	}
	return nil, i
}

func (c concat) Length(i int) int {
	s, k := c.at(i)
	return s.Length(k)
}

func (c concat) Example(dst *Example, i, pass int) error {
	s, k := c.at(i)
	return s.Example(dst, k, pass)
}

// Naive implements ForecastSet if all sets do.
func (c concat) Naive(last, season []float32, i int) error {
	s, k := c.at(i)
	return s.(ForecastSet).Naive(last, season, k)
}

// Resize returns a slice of length n, in the memory of s if that is large enough.
func Resize(s []float32, n int) []float32 {
	return slices.Grow(s[:0], n)[:n]
}
