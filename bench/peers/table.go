package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

// table prints a Markdown table: for every operation that a peer has, the peer's time, and the time
// and speed-up of every level.
type table struct {
	w      io.Writer
	titled bool
}

// add prints the rows of an operation at one size.
func (t *table) add(rows []bench.Row) error {
	peers := slices.IndexFunc(rows, func(r bench.Row) bool { return r.Peer != "" })
	if peers < 0 {
		return nil
	}
	ours := rows[:peers]
	if !t.titled {
		t.titled = true
		cells, rule := []string{"op", "sizes", "threads", "peer", "time"}, []string{"---", "---", "---:", "---", "---:"}
		for _, r := range ours {
			cells, rule = append(cells, r.Level), append(rule, "---:")
		}
		t.line(cells)
		t.line(rule)
	}
	for _, their := range rows[peers:] {
		cells := []string{their.Op, their.Sizes.String(), fmt.Sprint(their.Workers), their.Peer, duration(their.NS)}
		for _, our := range ours {
			cells = append(cells, fmt.Sprintf("%s (%.2f×)", duration(our.NS), their.NS/our.NS))
		}
		t.line(cells)
	}
	return nil
}

func (t *table) line(cells []string) { fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | ")) }

// duration formats nanoseconds with three digits.
func duration(ns float64) string {
	unit := "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if ns < 999.5 {
			break
		}
		ns, unit = ns/1000, next
	}
	digits := 0
	for limit := 99.95; ns < limit && digits < 2; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f %s", digits, ns, unit)
}
