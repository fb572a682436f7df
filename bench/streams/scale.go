package main

import (
	"fmt"
	"strings"
	"time"
)

// printScale prints rows of a network, one per number of streams: the memory of the states and the
// time per sample of each way to advance them.
func printScale(n network, counts []int, block time.Duration, seconds float64) {
	fmt.Print("| network | streams | MiB |")
	for _, w := range ways {
		fmt.Printf(" %s, µs per sample |", w.name)
	}
	fmt.Printf("\n| --- | ---: | ---: |%s\n", strings.Repeat(" ---: |", len(ways)))
	for _, count := range counts {
		b := newMeasurement(n, way{}, block)
		fmt.Printf("| %s | %d | %.1f |", n.name, count, float64(count*n.net.StreamBytes())/(1<<20))
		for _, w := range ways {
			b.way = w
			fmt.Printf(" %.3g |", 1e6*b.time(count, seconds))
		}
		fmt.Println()
	}
	fmt.Println()
}
