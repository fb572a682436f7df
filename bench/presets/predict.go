package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// trace has the time of each item of the parallel loops of a training step with one thread.
type trace struct {
	Loops [][]time.Duration
	Names []string // of the loops' functions
}

func (t *trace) add(name string, items []time.Duration) {
	t.Loops, t.Names = append(t.Loops, items), append(t.Names, name)
}

func total(items []time.Duration) (sum time.Duration) {
	for _, d := range items {
		sum += d
	}
	return sum
}

// time returns the time of the loops with a number of threads. Each thread takes the next item when
// it has finished one, and a loop ends when all its items are done.
func (t *trace) time(threads int) (sum time.Duration) {
	busy := make([]time.Duration, threads) // when each thread finishes its last item
	for _, items := range t.Loops {
		clear(busy)
		for _, d := range items {
			i := slices.Index(busy, slices.Min(busy))
			busy[i] += d
		}
		sum += slices.Max(busy)
	}
	return sum
}

// speedUp returns the predicted speed-up of a step that takes the given time with one thread. The
// time outside the loops does not change.
func (t *trace) speedUp(step time.Duration, threads int) float64 {
	return float64(step) / float64(step-t.time(1)+t.time(threads))
}

// predicted are the numbers of threads of the table.
var predicted = []int{2, 4, 8, 16, 32, 64}

func printPredictionHead() {
	fmt.Print("| preset | network | length | batch | seconds per step, one thread | loops | share outside loops |")
	for _, n := range predicted {
		fmt.Printf(" %d threads |", n)
	}
	fmt.Println("\n| --- | --- | ---: | ---: | ---: | ---: | ---: |" + strings.Repeat(" ---: |", len(predicted)))
}

// prediction returns the row of a preset.
func (r result) prediction(task string) string {
	step := time.Duration(r.Seconds * float64(time.Second))
	outside := 1 - float64(r.Trace.time(1))/float64(step)
	row := fmt.Sprintf("| %s | %s | %d | %s | %.3g | %d | %.2f %% |", task, r.Network, r.Length, r.batch(), r.Seconds, len(r.Trace.Loops), 100*outside)
	for _, n := range predicted {
		row += fmt.Sprintf(" %.1f× |", r.Trace.speedUp(step, n))
	}
	return row
}
