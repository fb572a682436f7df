// Package bench measures the kernels and a whole training step, at every level of the processor.
//
// Run measures the given operations at the given levels and numbers of threads. It reports one row
// per operation, size, number of threads and level: nanoseconds per unit (Op.Unit), floating-point
// operations per second, and their fraction of the peak multiply-add rate at the same level and
// number of threads. Levels and peak are measured alternately, since the speed of machines varies.
// Figures are medians.
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

// Options selects what to measure.
type Options struct {
	Ops     []string      // names of operations; empty: all
	Levels  []string      // levels available here; empty: all of them
	Workers []int         // numbers of threads; empty: 1, for train also one per processor
	Time    time.Duration // of the measurement of a row
	Peers   []Peer        // measured alternately with the levels
}

// Peer is other software that implements some of the operations.
type Peer interface {
	Name() string
	// Measure runs the operation with the Op, Workers and Sizes of r for about d. It returns the
	// nanoseconds per unit, or 0 if the peer does not implement the operation. Calls for the same
	// operation follow each other.
	Measure(r Row, d time.Duration) (ns float64, err error)
	Stop()
}

// Row is the result of one measurement. With several threads, every thread runs the kernel on its
// own data, and NS is the time of one of them. A training step distributes its work over the
// threads. GFLOPS counts all threads.
type Row struct {
	Op      string `json:"op"`
	Level   string `json:"level,omitempty"`
	Peer    string `json:"peer,omitempty"` // name of the peer; empty for a level
	Workers int    `json:"threads"`
	Sizes
	NS                 float64 `json:"ns"`                             // per unit of the operation
	GFLOPS             float64 `json:"gflops,omitempty"`               // 10⁹ nominal operations per second
	Peak               float64 `json:"peak,omitempty"`                 // fraction of the peak's GFLOPS
	GBPerSecond        float64 `json:"gb_per_second,omitempty"`        // 10⁹ bytes per second, read and written
	SequencesPerSecond float64 `json:"sequences_per_second,omitempty"` // of training steps
}

// Sizes are the sizes of an operation. Sizes that it does not have are 0.
type Sizes struct {
	N      int `json:"n,omitempty"`      // elements, or a matrix product's columns
	L      int `json:"L,omitempty"`      // length of a sequence
	H      int `json:"H,omitempty"`      // channels
	M      int `json:"M,omitempty"`      // complex modes per channel
	Rows   int `json:"m,omitempty"`      // a matrix product's rows
	K      int `json:"k,omitempty"`      // a matrix product's inner length
	B      int `json:"B,omitempty"`      // sequences per batch
	Layers int `json:"layers,omitempty"` // of a network
}

// String formats the sizes as in names of benchmarks: "H=128 M=32 L=1024".
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

// Validate returns an error for the first invalid option.
func (o Options) Validate() error {
	if err := vek.StartupErr(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for _, name := range o.Ops {
		if !slices.ContainsFunc(ops, func(op Op) bool { return op.Name == name }) {
			return fmt.Errorf("bench: operation %q, expected one of %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, level := range o.Levels {
		if !slices.Contains(vek.Levels(), vek.Level(level)) {
			return fmt.Errorf("bench: level %q is not available on this machine, expected some of %v", level, vek.Levels())
		}
	}
	for _, n := range o.Workers {
		if n < 1 || n > maxThreads {
			return fmt.Errorf("bench: %d threads, expected 1 to %d", n, maxThreads)
		}
	}
	if o.Time <= 0 {
		return fmt.Errorf("bench: time %v, expected more than 0", o.Time)
	}
	return nil
}

const maxThreads = 1024

// Run measures, and calls emit for the rows of each size of an operation and number of threads,
// those of the levels first. It returns early if ctx is done or emit returns an error. It changes
// the level of the process while it runs, so nothing else may use the kernels.
func Run(ctx context.Context, o Options, emit func([]Row) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	var cases []workload
	for _, op := range ops {
		if len(o.Ops) == 0 || slices.Contains(o.Ops, op.Name) {
			cases = append(cases, op.cases...)
		}
	}
	return o.run(ctx, cases, emit)
}

func (o Options) run(ctx context.Context, cases []workload, emit func([]Row) error) error {
	var levels []vek.Level
	for _, l := range o.Levels {
		levels = append(levels, vek.Level(l))
	}
	if len(levels) == 0 {
		levels = vek.Levels()
	}
	before := vek.CurrentLevel()
	defer func() { _ = vek.SetLevel(before) }() // it was the level in use
	for _, w := range cases {
		for _, threads := range o.threads(w) {
			rows, err := w.measure(ctx, levels, o.Peers, threads, o.Time)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", w.op, err)
			}
			if err := emit(rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o Options) threads(w workload) []int {
	all := runtime.GOMAXPROCS(0)
	switch {
	case len(o.Workers) > 0:
		return o.Workers
	case w.shared && all > 1:
		return []int{1, all}
	}
	return []int{1}
}
