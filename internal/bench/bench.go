// Package bench measures the kernels and a whole training step, at every level of the processor.
//
// In go names of operations, levels and numbers of threads; out come rows, one an operation, size, number of threads
// and level: nanoseconds (of what, Ops says), floating-point operations a second, and the fraction that these are of
// the multiply-add rate of the same level and threads. The levels of a row are measured in turns, and so is that
// rate, since machines change their speed; figures are medians.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Options say what to measure.
type Options struct {
	Ops     []string      // names that Ops lists; nil: all
	Levels  []string      // levels available here; nil: all of them
	Workers []int         // numbers of goroutines to measure with; nil: 1, and for train also one per processor
	Time    time.Duration // to spend on measuring a row; 0: DefaultTime
	Peers   []Peer        // take turns with the levels
}

// Peer is somebody else's code for the same operations.
type Peer interface {
	Name() string
	// Measure runs the operation that r names by Op, Workers and Sizes for about d, and returns the nanoseconds of a
	// unit of it, or 0 if the peer does not do it. Calls for the same operation follow each other.
	Measure(r Row, d time.Duration) (ns float64, err error)
}

// DefaultTime lets a run of all operations at all levels end within a minute.
const DefaultTime = 250 * time.Millisecond

// Row is one figure. With several threads every kernel runs once a thread, each on data of its own, and NS is what one
// of them takes; a training step shares its work among the threads. GFLOPS counts all threads.
type Row struct {
	Op      string `json:"op"`
	Level   string `json:"level,omitempty"`
	Peer    string `json:"peer,omitempty"` // who is measured, if not a level
	Workers int    `json:"threads"`
	Sizes
	NS                 float64 `json:"ns"`                             // of one unit of the operation
	GFLOPS             float64 `json:"gflops,omitempty"`               // 10⁹ nominal operations a second
	Peak               float64 `json:"peak,omitempty"`                 // GFLOPS over those of the operation peak
	GBPerSecond        float64 `json:"gb_per_second,omitempty"`        // 10⁹ bytes a second, read and written
	SequencesPerSecond float64 `json:"sequences_per_second,omitempty"` // of train
}

// Sizes are an operation's sizes by the names of the field; those that it has not are 0.
type Sizes struct {
	N      int `json:"n,omitempty"`      // elements, or a matrix product's columns
	L      int `json:"L,omitempty"`      // length of a sequence
	H      int `json:"H,omitempty"`      // channels
	M      int `json:"M,omitempty"`      // complex modes of a channel
	Rows   int `json:"m,omitempty"`      // a matrix product's rows
	K      int `json:"k,omitempty"`      // a matrix product's inner length
	B      int `json:"B,omitempty"`      // sequences of a batch
	Layers int `json:"layers,omitempty"` // of a network
}

// String spells the sizes as benchmarks' names do: "H=128 M=32 L=1024".
func (s Sizes) String() string {
	var b strings.Builder
	for _, f := range []struct {
		name  string
		value int
	}{{"m", s.Rows}, {"n", s.N}, {"k", s.K}, {"H", s.H}, {"M", s.M}, {"L", s.L}, {"B", s.B}, {"layers", s.Layers}} {
		if f.value != 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.value)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Validate reports the first option that makes no sense here.
func (o Options) Validate() error {
	if o.Ops != nil && len(o.Ops) == 0 {
		return fmt.Errorf("bench: no op: want some of %s", strings.Join(Names(), ", "))
	}
	if o.Workers != nil && len(o.Workers) == 0 {
		return fmt.Errorf("bench: no number of threads")
	}
	for _, name := range o.Ops {
		if !slices.ContainsFunc(ops, func(op Op) bool { return op.Name == name }) {
			return fmt.Errorf("bench: op %q: want one of %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, level := range o.Levels {
		if !slices.Contains(vek.Levels(), vek.Level(level)) {
			return fmt.Errorf("bench: level %q is not available here; available: %v", level, vek.Levels())
		}
	}
	for _, n := range o.Workers {
		if n < 1 || n > maxThreads {
			return fmt.Errorf("bench: %d threads: want 1 … %d", n, maxThreads)
		}
	}
	if o.Time < 0 {
		return fmt.Errorf("bench: time %v: want more than 0", o.Time)
	}
	return nil
}

const maxThreads = 1024

// Run measures and hands over each row as soon as it is known. It ends early with ctx, or with an error of emit. The
// level of the whole process changes while it runs, so nothing else may use the kernels.
func Run(ctx context.Context, o Options, emit func(Row) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	var cases []workload
	for _, op := range ops {
		if o.Ops == nil || slices.Contains(o.Ops, op.Name) {
			cases = append(cases, op.cases...)
		}
	}
	return o.run(ctx, cases, emit)
}

func (o Options) run(ctx context.Context, cases []workload, emit func(Row) error) error {
	levels := vek.Levels()
	if o.Levels != nil {
		levels = nil
		for _, l := range o.Levels {
			levels = append(levels, vek.Level(l))
		}
	}
	if o.Time == 0 {
		o.Time = DefaultTime
	}
	before := vek.CurrentLevel()
	defer func() { _ = vek.SetLevel(before) }() // it was in use
	for _, w := range cases {
		for _, threads := range o.threads(w) {
			rows, err := w.measure(ctx, levels, o.Peers, threads, o.Time)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", w.op, err)
			}
			for _, r := range rows {
				if err := emit(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (o Options) threads(w workload) []int {
	all := runtime.GOMAXPROCS(0)
	switch {
	case o.Workers != nil:
		return o.Workers
	case w.shared && all > 1:
		return []int{1, all}
	}
	return []int{1}
}
