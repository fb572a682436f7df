// Package dataset loads the data of every task.
//
// Load takes the name of a task and, for recorded data, a folder in the layout in which the data
// set is published. It returns up to three sets of examples (training, validation and test) and a
// description of the network that fits them. Samples are float32, one channel after the other, and
// not normalised: the caller uses Mean and Std of the training set. Generated data is a function of
// (seed, epoch, example) alone, so a resumed run gets the same data.
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
	Channels    int // input channels; 0: the input is tokens
	Vocab       int // number of tokens
	Outputs     int // number of classes, or of a regression's values
	Labels      []string
	Regression  bool    // targets are numbers, otherwise classes
	PerPosition bool    // one output per position, otherwise one per sequence
	Pairs       bool    // an example is two sequences of tokens, which the network compares
	SampleRate  float64 // Hz, of the examples; 0: unknown
	MaxLen      int     // length of the longest example
	Delay       int     // delay task: samples from the input to the target
}

// Encoder returns the kind of encoder that the task requires, and its d_input.
func (i Info) Encoder() (kind model.Encoder, inputs int) {
	if i.Channels == 0 {
		return model.EncoderEmbedding, i.Vocab
	}
	return model.EncoderLinear, i.Channels
}

// Example is one sequence with its label or target.
type Example struct {
	X      []float32 // [Channels][Len]
	Tokens []int32   // [Len], instead of X
	Other  []int32   // Pairs: the second sequence, at least one token
	Len    int
	Label  int       // index into Labels; −1 for a regression
	Target []float32 // regression: [Outputs], or [Outputs][Len] if per position
	Path   string    // file of the recording; "" if it has none
}

// Set is a list of examples.
type Set interface {
	Len() int
	// Example fills dst with example i and reuses its slices. Generated training data depends on
	// the epoch, recorded data does not. Concurrent calls need different dst.
	Example(dst *Example, i, epoch int) error
}

// Sized is a Set that knows the length of example i, or of its longer sequence, without decoding
// it.
type Sized interface {
	Set
	Length(i int) int
}

// Dataset is the data of a task. A split that has no examples or was not requested is nil. Every
// set that Load returns is Sized. MaxLen is that of the loaded splits.
type Dataset struct {
	Info
	Train, Val, Test Set
	// Mean and Std of each channel over the training set, without padding; nil without a training
	// set. A constant channel has Std 1. Pathfinder has ½ and ½. The Std of digits is a sixteenth
	// of that of its clips.
	Mean, Std []float32
	// TargetMean and TargetStd of each output of a regression over the training set. A constant
	// target has TargetStd 1. Nil without a training set and for targets that are not standardised
	// (delay).
	TargetMean, TargetStd []float32
}

// Options selects the data. The zero value of a field is its default.
type Options struct {
	Dir      string // folder of recorded data
	Seed     uint64 // of generated data
	Split    string // split to load: train, val or test; "" or "all": every split
	Progress func(done, total int)
	Context  context.Context // cancels Load, which then returns the context's error

	// MaxLen is in recorded samples. fsdd and digits: longer training clips are truncated (default
	// 8000, 1 s). speech-commands: all clips are truncated or zero-padded to this length (default
	// 16000, 1 s).
	MaxLen int
	// Decimate keeps every Decimate-th sample of a recording, without a filter: x[::2] turns 16 kHz
	// into 8 kHz. A network trained at 16 kHz reads it with step scale 2 (docs/maths.md §1.6).
	Decimate int

	// Delay task: samples per sequence (default 4000), samples of delay (default a quarter of
	// them), training sequences per epoch (default 16384) and validation sequences (default 1024).
	Length, Delay, TrainSize, EvalSize int
}

// rejectDelayOptions returns an error if an option of the delay task is set.
func (o Options) rejectDelayOptions() error {
	if o.Length != 0 || o.Delay != 0 || o.TrainSize != 0 || o.EvalSize != 0 {
		return errors.New("length, delay, train_size and eval_size are options of the delay task")
	}
	return nil
}

// rejectClipOptions returns an error if an option of the delay task or of spoken words is set.
func (o Options) rejectClipOptions() error {
	if o.MaxLen != 0 || o.Decimate > 1 {
		return errors.New("max_len and decimate are options of the tasks fsdd, digits and speech-commands")
	}
	return o.rejectDelayOptions()
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

// Tasks returns the names of all tasks, sorted.
func Tasks() []string {
	names := make([]string, 0, len(loaders))
	for name := range loaders {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Load returns the data of a task. Errors name the task and the file or folder.
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

// Split returns the set of that name: train, val, test, or all for their concatenation. A split
// without examples is an error.
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
	return fmt.Errorf("dataset: unknown split %q: expected train, val, test or all", name)
}

// includes reports whether a split is requested.
func (o Options) includes(s split) bool {
	return o.Split == "" || o.Split == "all" || o.Split == s.String()
}

// all returns the examples of every split, each once: a test set that is also the validation set is
// not repeated.
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

// concat is the concatenation of sets.
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

// resize returns a slice of length n, in the memory of s if that is large enough.
func resize(s []float32, n int) []float32 {
	return slices.Grow(s[:0], n)[:n]
}
