package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// printRecordings prints how many recordings of each class, of other words and of background a word
// detector is trained and tested on. For other data it prints nothing.
func printRecordings(w io.Writer, data *dataset.Dataset) {
	var columns []string
	var sounds []recordings.Sounds
	for _, s := range []struct {
		name string
		set  dataset.Set
	}{{"training", data.Train}, {"validation", data.Val}, {"test", data.Test}} {
		if streams, ok := s.set.(*recordings.StreamSet); ok {
			columns, sounds = append(columns, s.name), append(sounds, streams.Sounds())
		}
	}
	if len(sounds) == 0 {
		return
	}
	labels := sounds[0].Labels
	first, counts := len("all 9999 classes"), make([][]string, len(labels))
	others, background := make([]string, len(sounds)), make([]string, len(sounds))
	totals := make([]string, len(sounds))
	for _, label := range labels {
		first = max(first, len([]rune(printable(label, ""))))
	}
	for i, s := range sounds {
		n, samples := make([]int, len(labels)), 0
		for _, c := range s.Words {
			n[c.Label]++
		}
		for label := range labels {
			counts[label] = append(counts[label], strconv.Itoa(n[label]))
		}
		for _, c := range s.Background {
			samples += c.Len()
		}
		totals[i], others[i] = strconv.Itoa(len(s.Words)), strconv.Itoa(len(s.Other))
		background[i] = time.Duration(float64(samples) / s.SampleRate * 1e9).Round(time.Second).String()
	}
	row := func(name string, cells []string) {
		var line strings.Builder
		for _, cell := range cells {
			fmt.Fprintf(&line, "  %11s", cell)
		}
		fmt.Fprintf(w, "%-*s%s\n", first, name, line.String())
	}
	row("recordings", columns)
	if len(labels) <= maxColumns {
		for i, label := range labels {
			row(printable(label, ""), counts[i])
		}
	} else {
		row(fmt.Sprintf("all %d classes", len(labels)), totals)
	}
	row("other words", others)
	row("background", background)
}
