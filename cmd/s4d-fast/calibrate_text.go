package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/figure"
)

// tableRates are the numbers of false alarms per hour for which the table has a row.
var tableRates = []float64{0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// text prints what was measured, the trade-off, and a point under a title.
func (d *detection) text(w io.Writer, title string, p *calibration.Point) error {
	var b strings.Builder
	if p.Words > 0 {
		labels, noise := 0, "clean"
		for _, n := range d.Words {
			labels += min(n, 1)
		}
		if !math.IsInf(d.words.SNR, 1) {
			noise = fmt.Sprintf("%g dB over noise", d.words.SNR)
		}
		fmt.Fprintf(&b, "words       %d of %d labels in %.1f minutes: gaps %g to %g s, %s\n",
			p.Words, labels, d.Seconds/60, d.words.MinGap, d.words.MaxGap, noise)
		if len(d.trained) > 0 {
			fmt.Fprintf(&b, "            the model was trained on %s\n", d.trainedOn(""))
		}
		if len(d.unknown) > 0 {
			fmt.Fprintf(&b, "            without the clips of labels that the model does not have: %s\n", names(d.unknown))
		}
	}
	all := p.All()
	if p.Words > 0 && all.Hours > 0 {
		b.WriteByte('\n')
		d.table(&b, p)
	}
	fmt.Fprintf(&b, "\n%s: threshold %g, confirm %d, refractory %g s, smoothing %g s\n", title, p.Options.Threshold, p.Options.Confirm, p.Options.Refractory, p.Options.Smoothing)
	if len(p.Offsets) > 0 {
		fmt.Fprintf(&b, "  by label    threshold %s\n", thresholdsText(d.Labels, p.Offsets, p.Options.Threshold))
	}
	if p.Words > 0 {
		rate, low, high := p.MissRate()
		fmt.Fprintf(&b, "missed        %d of %d words, %s (95 %% interval %s to %s)\n", p.Missed(), p.Words, percent(rate), percent(low), percent(high))
		var each []string
		for i, l := range d.Labels {
			if d.Words[i] > 0 {
				each = append(each, fmt.Sprintf("%s %d/%d", l, p.MissedWords[i], d.Words[i]))
			}
		}
		fmt.Fprintf(&b, "  by label    %s\n", names(each))
		fmt.Fprintf(&b, "events        %d in the streams of words: %d of a word of another label, %d of no word or of a word found before\n", p.Events, p.Mistaken, p.False)
		fmt.Fprintf(&b, "              precision %.3f, recall %.3f, F1 %.3f\n", p.Precision(), p.Recall(), p.F1())
		if l := latencyOf(p); l != nil {
			fmt.Fprintf(&b, "latency       from the end of a word to its event: median %.2f s, 90 %% at most %.2f s, largest %.2f s\n", l.Median, l.Share90, l.Largest)
		}
	}
	if all.Hours > 0 {
		d.backgrounds(&b, p)
		var each []string
		for i, l := range d.Labels {
			if all.ByLabel[i] > 0 {
				each = append(each, fmt.Sprintf("%s %d", l, all.ByLabel[i]))
			}
		}
		if len(each) > 0 {
			fmt.Fprintf(&b, "  by label    %s\n", names(each))
		}
	}
	lists(&b, p)
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *detection) backgrounds(w io.Writer, p *calibration.Point) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "false alarms\thours\tper hour\t95 % interval\tin training\t   background\n")
	for _, b := range p.Backgrounds {
		rate, low, high := b.FalseAlarmRate()
		fmt.Fprintf(t, "%d\t%.2f\t%s\t%s – %s\t%s\t   %s\n", b.FalseAlarms, b.Hours, perHour(rate), perHour(low), perHour(high), d.trainedOn(b.Name), printable(b.Name, ""))
	}
	t.Flush()
}

// lists prints the false alarms and the missed words that a point lists.
func lists(w io.Writer, p *calibration.Point) {
	if len(p.Alarms) > 0 {
		fmt.Fprintf(w, "\n%d of %d false alarms, with their start and end in seconds of the file\n", len(p.Alarms), p.All().FalseAlarms)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "confidence\tlabel\tstart\tend\tfile")
		for _, a := range p.Alarms {
			fmt.Fprintf(t, "%.3f\t%s\t%.2f\t%.2f\t%s\n", a.Confidence, printable(a.Label, ""), a.Start, a.End, printable(a.File, ""))
		}
		t.Flush()
	}
	if len(p.Lost) > 0 {
		fmt.Fprintf(w, "\n%d of %d missed words\n", len(p.Lost), p.Missed())
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "label\tfile")
		for _, v := range p.Lost {
			fmt.Fprintf(t, "%s\t%s\n", printable(v.Label, ""), printable(v.File, ""))
		}
		t.Flush()
	}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// perHour formats a rate with about two digits.
func perHour(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 0.995:
		return fmt.Sprintf("%.2f", rate)
	case rate < 9.95:
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// table prints the best point for each limit in tableRates, with the rate in its worst background,
// and marks one point.
func (d *detection) table(w io.Writer, marked *calibration.Point) {
	points := []calibration.Point{*marked}
	for _, limit := range tableRates {
		p, ok := d.Best(limit)
		if ok && !slices.ContainsFunc(points, func(q calibration.Point) bool { return q.Options == p.Options }) {
			points = append(points, p)
		}
	}
	slices.SortStableFunc(points, func(a, b calibration.Point) int { return a.CompareAlarms(&b) })
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "per hour, worst background\t95 % interval\tmissed words\t95 % interval\tthreshold\tconfirm\tsmoothing\t\n")
	for i := range points {
		p, mark := &points[i], ""
		if p.Options == marked.Options {
			mark = " ←"
		}
		worst := p.Worst()
		rate, low, high := worst.FalseAlarmRate()
		missed, least, most := p.MissRate()
		fmt.Fprintf(t, "%s\t%s – %s\t%s\t%.1f – %s\t%g\t%d\t%g s\t%s\n", perHour(rate), perHour(low), perHour(high), percent(missed), 100*least, percent(most),
			p.Options.Threshold, p.Options.Confirm, p.Options.Smoothing, mark)
	}
	t.Flush()
}

// panel returns the plot of the trade-off, with a point and, unless it is 0, a limit on the false
// alarms per hour. The logarithmic axis has no 0, so points without false alarms are drawn as if
// there were half an event in the longest background.
func (d *detection) panel(p *calibration.Point, name string, limit float64) figure.Panel {
	longest := 0.0
	for _, b := range p.Backgrounds {
		longest = max(longest, b.Hours)
	}
	least := 0.5 / longest
	at := func(p *calibration.Point) float64 {
		worst := p.Worst()
		rate, _, _ := worst.FalseAlarmRate()
		return max(rate, least)
	}
	curve, band := figure.Curve{Name: "fewest missed words"}, figure.Band{Name: "95 % interval"}
	add := func(x, y, low, high float64) {
		curve.X, curve.Y = append(curve.X, x), append(curve.Y, y)
		band.X, band.Low, band.High = append(band.X, x), append(band.Low, low), append(band.High, high)
	}
	points := d.Curve()
	for i := range points {
		q := &points[i]
		if n := len(curve.X) - 1; n >= 0 { // a step
			add(at(q), curve.Y[n], band.Low[n], band.High[n])
		}
		rate, low, high := q.MissRate()
		add(at(q), 100*rate, 100*low, 100*high)
	}
	rate, _, _ := p.MissRate()
	panel := figure.Panel{
		Title: fmt.Sprintf("%d words, %.2f hours of background", p.Words, p.All().Hours),
		X:     fmt.Sprintf("false alarms per hour in the worst background (none is drawn at %.2g)", least), Y: "missed words [%]", LogX: true,
		YMax: slices.Max(band.High), Bands: []figure.Band{band},
		Curves: []figure.Curve{curve, {Name: name, X: []float64{at(p)}, Y: []float64{100 * rate}, Points: true, Hue: figure.Red}},
	}
	if limit > 0 {
		panel.Marks, panel.MarkName = []float64{limit}, fmt.Sprintf("%g per hour", limit)
	}
	return panel
}

// names joins names from files for a terminal.
func names(list []string) string { return printable(strings.Join(list, ", "), "") }
