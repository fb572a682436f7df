package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

type benchCmd struct {
	Op      []string      `help:"Operations to measure: ${ops} (default: all)." placeholder:"OP"`
	Threads []int         `help:"Numbers of threads (default: 1; train also runs with one thread per processor)." placeholder:"N"`
	Time    time.Duration `help:"Time to spend on each row." default:"250ms"`
	JSON    bool          `name:"json" help:"Print JSON Lines instead of a table."`
}

func (c *benchCmd) Help() string {
	var b strings.Builder
	b.WriteString("Measures every kernel level that the processor supports, or only those in --level (separated by commas) or S4D_LEVEL.\n\nColumn ns is the time in nanoseconds per unit. The unit depends on the operation:\n")
	for _, op := range bench.Ops() {
		fmt.Fprintf(&b, "  %-12s %s\n", op.Name, op.Unit)
	}
	b.WriteString(`
Column peak is the GFLOP/s as a fraction of the peak FMA rate with operands in registers. Both rates are measured
alternately. copy has neither GFLOP/s nor peak. cauchy computes in float64. A vector register holds half as many
float64 as float32 numbers, so cauchy has a lower share of the peak.

Example:
  s4d-fast bench --op fft,conv --level generic,avx2`)
	return b.String()
}

func (c *benchCmd) Run(std *streams, ctx context.Context, all *cli) error {
	o := bench.Options{Ops: c.Op, Workers: c.Threads, Time: c.Time}
	if all.Level != "" {
		o.Levels = strings.Split(all.Level, ",")
	} else if os.Getenv("S4D_LEVEL") != "" {
		o.Levels = []string{string(vek.CurrentLevel())}
	}
	if err := o.Validate(); err != nil {
		return usageError(err)
	}
	write := func(r bench.Row) error { return json.NewEncoder(std.out).Encode(r) }
	if !c.JSON {
		fmt.Fprintf(std.out, benchLine, "op", "sizes", "level", "threads", "ns", "GFLOP/s", "peak", "")
		write = func(r bench.Row) error { return writeBenchLine(std.out, r) }
	}
	return bench.Run(ctx, o, func(rows []bench.Row) error {
		for _, r := range rows {
			if err := write(r); err != nil {
				return err
			}
		}
		return nil
	})
}

const benchLine = "%-12s %-36s %-8s %7s %12s %9s %6s  %s\n"

// writeBenchLine prints a row in columns of fixed widths.
func writeBenchLine(w io.Writer, r bench.Row) error {
	gflops, share, note := "", "", ""
	if r.GFLOPS > 0 {
		gflops, share = fmt.Sprintf("%.1f", r.GFLOPS), fmt.Sprintf("%.0f%%", 100*r.Peak)
	}
	switch {
	case r.GBPerSecond > 0:
		note = fmt.Sprintf("%.1f GB/s", r.GBPerSecond)
	case r.SequencesPerSecond > 0:
		note = fmt.Sprintf("%.1f sequences/s", r.SequencesPerSecond)
	}
	_, err := fmt.Fprintf(w, benchLine, r.Op, r.Sizes, r.Level, fmt.Sprint(r.Workers), nanoseconds(r.NS), gflops, share, note)
	return err
}

// nanoseconds formats a time with at least four digits.
func nanoseconds(ns float64) string {
	digits := 0
	for limit := 1000.0; ns < limit && digits < 3; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, ns)
}
