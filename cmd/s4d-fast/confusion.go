package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/figure"
	"github.com/s4d-fast/s4d-fast/train/task"
)

const (
	maxMistakes = 10 // that are printed
	maxColumns  = 20 // labels of a table that fits on a screen
)

// printOperatingPoint prints the threshold that training chose, and what it was chosen by.
func printOperatingPoint(w io.Writer, p *calibration.Point) {
	quiet := p.All()
	fmt.Fprintf(w, "Threshold %.2g, smoothing %g s, confirm %d, chosen on streams mixed from the validation recordings:\n%d of %d words missed, %s in %.2g h without words.\n",
		p.Options.Threshold, p.Options.Smoothing, p.Options.Confirm, p.Missed(), p.Words, plural(quiet.FalseAlarms, "false alarm"), quiet.Hours)
}

// printConfusion prints the number of clips that were recognised, the confusion matrix and the
// worst mistakes.
func printConfusion(w io.Writer, c *task.Confusion) {
	fmt.Fprintf(w, "\n%s.\n", confusionTitle(c))
	if len(c.Labels) <= maxColumns {
		printTable(w, c)
	}
	if len(c.Mistakes) == 0 {
		return
	}
	fmt.Fprintf(w, "\nWorst mistakes (%d of %d), with the largest probability of both labels:\n", min(maxMistakes, len(c.Mistakes)), len(c.Mistakes))
	peak := func(m task.Mistake, label string) string {
		for i, l := range c.Labels {
			if l == label && l != events.None {
				return fmt.Sprintf("%s (%.2f)", printable(label, ""), m.Peaks[i])
			}
		}
		return printable(label, "")
	}
	for _, m := range c.Mistakes[:min(maxMistakes, len(c.Mistakes))] {
		fmt.Fprintf(w, "  %s: %s, found %s\n", printable(m.Path, ""), peak(m, m.Label), peak(m, m.Found))
	}
}

// confusionTitle returns a sentence with the numbers of recognised clips of words and of other
// words.
func confusionTitle(c *task.Confusion) string {
	words := len(c.Labels)
	if c.Labels[words-1] == events.None {
		words--
	}
	right, total := c.Right(0, words)
	title := fmt.Sprintf("Validation clips: %d of %d right (%.1f %%)", right, total, 100*float64(right)/float64(max(total, 1)))
	if right, total = c.Right(words, len(c.Labels)); total > 0 {
		title += fmt.Sprintf("; other words: %d of %d right", right, total)
	}
	return title
}

// printTable prints a row for each label with clips and a column for each label.
func printTable(w io.Writer, c *task.Confusion) {
	fmt.Fprintln(w, "Rows: label of the recording; columns: label found.")
	t := tabwriter.NewWriter(w, 6, 0, 2, ' ', tabwriter.AlignRight)
	for _, label := range c.Labels {
		fmt.Fprintf(t, "\t%s", printable(label, ""))
	}
	fmt.Fprintln(t, "\t")
	for i, row := range c.Counts {
		right, total := c.Right(i, i+1)
		if total == 0 {
			continue
		}
		fmt.Fprint(t, printable(c.Labels[i], ""))
		for _, n := range row {
			if n == 0 {
				fmt.Fprint(t, "\t.")
			} else {
				fmt.Fprintf(t, "\t%d", n)
			}
		}
		fmt.Fprintf(t, "\t%.1f %%\t\n", 100*float64(right)/float64(total))
	}
	t.Flush()
}

// drawConfusion draws the table and prints the name of the file. If there are more labels than a
// plot can show, it prints that instead.
func drawConfusion(w io.Writer, path string, c *task.Confusion) error {
	if n := len(c.Labels); n > figure.MaxClasses {
		fmt.Fprintf(w, "\nNo plot: there are %d labels, and a plot shows at most %d.\n", n, figure.MaxClasses)
		return nil
	}
	if err := figure.Confusion(path, figure.Matrix{Title: confusionTitle(c), Labels: c.Labels, Counts: c.Counts}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nPlot: %s\n", path)
	return nil
}
