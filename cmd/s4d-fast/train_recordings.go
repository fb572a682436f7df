package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// printRecordings prints how many recordings of each class, of other words and of background a word
// detector is trained and tested on. For other data it prints nothing.
func printRecordings(w io.Writer, data *dataset.Dataset) {
	for _, split := range []struct {
		name string
		set  dataset.Set
	}{{"training", data.Train}, {"validation", data.Val}, {"test", data.Test}} {
		streams, ok := split.set.(*recordings.StreamSet)
		if !ok {
			continue
		}
		s := streams.Sounds()
		counts, samples, classes := make([]int, len(s.Labels)), 0, ""
		for _, c := range s.Words {
			counts[c.Label]++
		}
		for _, c := range s.Background {
			samples += c.Len()
		}
		if len(counts) <= maxColumns {
			var list []string
			for i, n := range counts {
				list = append(list, fmt.Sprint(printable(s.Labels[i], ""), " ", n))
			}
			classes = " (" + strings.Join(list, ", ") + ")"
		}
		background := time.Duration(float64(samples) / s.SampleRate * 1e9).Round(time.Second)
		fmt.Fprintf(w, "%s: %d recordings%s, %d of other words, %v of background\n", split.name, len(s.Words), classes, len(s.Other), background)
	}
}
