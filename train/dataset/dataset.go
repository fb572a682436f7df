// Package dataset loads the data of every task.
//
// In goes a task's name and, for recorded data, a folder in the layout in which the data set is published;
// out come up to three sets of examples (training, validation, test) and what a network for them looks like.
// Samples are float32, a channel after the other, raw: the caller normalises with the training set's Mean
// and Std. Made-up data is a function of (seed, epoch, example) alone, so a resumed run meets the same.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
)

// Info describes a task's examples and the network that fits them.
type Info struct {
	Task        string
	Channels    int // of the input; 0: tokens
	Vocab       int // tokens: how many
	Outputs     int // classes, or values of a regression
	Labels      []string
	Regression  bool    // mean squared error against Target; otherwise cross-entropy against Label
	PerPosition bool    // an output at every position
	Pairs       bool    // an example is two sequences of tokens, and the answer compares them
	SampleRate  float64 // Hz, of the examples as delivered; 0: none
	MaxLen      int     // no example is longer
	Delay       int     // of the delay task: samples from the input to the target
}

// Encoder returns the encoder that a network needs for the task, and its d_input.
func (i Info) Encoder() (kind model.Encoder, inputs int) {
	if i.Channels == 0 {
		return model.EncoderEmbedding, i.Vocab
	}
	return model.EncoderLinear, i.Channels
}

// Example is one sequence with its answer.
type Example struct {
	X      []float32 // [Channels][Len]
	Tokens []int32   // [Len], instead of X
	Other  []int32   // Pairs: the second sequence, at least one token
	Len    int
	Label  int       // index into Labels; −1 for a regression
	Target []float32 // regression: [Outputs], or [Outputs][Len] if per position
	Path   string    // of the recording
}

// Set is a list of examples.
type Set interface {
	Len() int
	// Example fills dst with example i, reusing its slices. Made-up training data depends on the epoch,
	// recorded data does not. Calls with different dst may run at the same time.
	Example(dst *Example, i, epoch int) error
}

// Sized is a Set that knows an example's Len, or that of its longer sequence, without decoding it.
type Sized interface {
	Set
	Length(i int) int
}

// Dataset is a task's data. A split without examples, or not asked for, is nil; every set that Load returns is
// Sized. MaxLen is that of the splits loaded.
type Dataset struct {
	Info
	Train, Val, Test Set
	// Mean and Std of each channel over the training set, padding left out; nil without a training set. A
	// constant channel has Std 1. Pathfinder's are ½ and ½, whatever its images; the Std of digits is a sixteenth of its clips'.
	Mean, Std []float32
	// TargetMean and TargetStd of each output of a regression over the training set; a constant target has TargetStd 1.
	// Nil without a training set, and where the targets are not standardised (delay).
	TargetMean, TargetStd []float32
}

// Options says where the data is and how much of it to deliver. The zero value of a field is its default.
type Options struct {
	Dir      string // folder of recorded data
	Seed     uint64 // of made-up data
	Split    string // the only split to load: train, val or test; "" or "all": every one
	Progress func(done, total int)
	Context  context.Context // ends Load early, with the context's error

	// MaxLen is in recorded samples. fsdd: longer training clips are cut (default 8000, 1 s), others are whole.
	// speech-commands: longer clips are cut, shorter ones zero-padded (default 16000, 1 s).
	MaxLen int
	// Decimate keeps every Decimate-th sample of a recording, without a filter: x[::2] turns 16 kHz into
	// 8 kHz, to be met with rate 2 (docs/maths.md §1.6).
	Decimate int

	// Of the delay task: samples a sequence (default 4000), samples of delay (default a quarter of them), and
	// examples in an epoch (default 16384) and in the validation set (default 1024).
	Length, Delay, TrainSize, EvalSize int
}

// refuseDelay refuses the options of the delay task.
func (o Options) refuseDelay() error {
	if o.Length != 0 || o.Delay != 0 || o.TrainSize != 0 || o.EvalSize != 0 {
		return errors.New("length, delay, train_size and eval_size are options of the delay task")
	}
	return nil
}

// refuseRecorded also refuses those of spoken words.
func (o Options) refuseRecorded() error {
	if o.MaxLen != 0 || o.Decimate > 1 {
		return errors.New("max_len and decimate are options of the tasks of spoken words: these examples are neither cut nor decimated")
	}
	return o.refuseDelay()
}

var loaders = map[string]func(Options) (*Dataset, error){
	"bidmc-hr":        bidmc("bidmc-hr"),
	"bidmc-rr":        bidmc("bidmc-rr"),
	"bidmc-spo2":      bidmc("bidmc-spo2"),
	"delay":           loadDelay,
	"digits":          loadDigits,
	"fsdd":            loadFSDD,
	"image":           cifar("image", false, false).load,
	"listops":         loadListOps,
	"pathfinder":      pathfinder("pathfinder", 32),
	"pathx128":        pathfinder("pathx128", 128),
	"pathx256":        pathfinder("pathx256", 256),
	"pscifar":         cifar("pscifar", true, true).load,
	"psmnist":         mnist("psmnist", true).load,
	"retrieval":       loadRetrieval,
	"scifar":          cifar("scifar", true, false).load,
	"smnist":          mnist("smnist", false).load,
	"speech-commands": loadSpeechCommands,
	"text":            loadText,
	"ts":              loadTS,
}

// Tasks returns the names of all tasks in alphabetical order.
func Tasks() []string {
	names := make([]string, 0, len(loaders))
	for name := range loaders {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Load returns a task's data. Errors name the task, and the file or folder at fault.
func Load(task string, opt Options) (*Dataset, error) {
	load := loaders[task]
	if load == nil {
		return nil, fmt.Errorf("dataset: unknown task %q; the tasks are %s", task, strings.Join(Tasks(), ", "))
	}
	if !slices.Contains([]string{"", "train", "val", "test", "all"}, opt.Split) {
		return nil, unknownSplit(opt.Split)
	}
	if opt.Context == nil {
		opt.Context = context.Background()
	}
	d, err := load(opt)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", task, err)
	}
	return d, nil
}

// Split returns the set of that name: train, val, test, or all of them one after the other. A split without
// examples is an error.
func (d *Dataset) Split(name string) (Set, error) {
	var s Set
	switch name {
	case "train":
		s = d.Train
	case "val":
		s = d.Val
	case "test":
		s = d.Test
	case "all":
		return d.all(), nil
	default:
		return nil, unknownSplit(name)
	}
	if s == nil {
		return nil, fmt.Errorf("dataset: %s: there are no %s examples", d.Task, name)
	}
	return s, nil
}

func unknownSplit(name string) error {
	return fmt.Errorf("dataset: unknown split %q: want train, val, test or all", name)
}

// wants reports whether a split is to be loaded.
func (o Options) wants(s split) bool {
	return o.Split == "" || o.Split == "all" || o.Split == s.String()
}

// all returns the examples of every split, each once: a test set that is also the validation set is not repeated.
func (d *Dataset) all() Set {
	var c concat
	for _, s := range []Set{d.Train, d.Val, d.Test} {
		repeated := func(before Sized) bool { return reflect.TypeOf(s).Comparable() && Set(before) == s }
		if s != nil && !slices.ContainsFunc(c, repeated) {
			c = append(c, s.(Sized))
		}
	}
	return c
}

// concat is sets one after the other.
type concat []Sized

func (c concat) Len() int {
	n := 0
	for _, s := range c {
		n += s.Len()
	}
	return n
}

// at returns the set that holds example i, and i's index in it.
func (c concat) at(i int) (Sized, int) {
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

func (c concat) Example(dst *Example, i, epoch int) error {
	s, k := c.at(i)
	if s == nil {
		return outOfRange(i, c.Len())
	}
	return s.Example(dst, k, epoch)
}

func outOfRange(i, n int) error {
	return fmt.Errorf("dataset: example %d of %d", i, n)
}

// resize returns a slice of length n in s's memory if it fits there.
func resize(s []float32, n int) []float32 {
	return slices.Grow(s[:0], n)[:n]
}
