// Command detectors measures word detectors and prints the tables of pretrained/README.md:
//
//	go run ./bench/detectors [-words PATH [-label REGEXP]] MODEL [BACKGROUND...]
//
// MODEL is a built-in model or a file. -words names clips of words as for `s4d-fast calibrate`. For
// each SNR the first table has what the operating point finds if they follow each other in a
// stream. Each BACKGROUND is a folder without the words. The second table has the false alarms in
// each. Recordings that trained the model are an error, if the model stores them.
//
// With S4D_HELDOUT, a folder, the command prints the tables again for the same relative paths in
// that folder: recordings that chose nothing, such as the threshold.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

func main() {
	words := flag.String("words", "", "`path` of clips: a folder with a folder per label, or a list")
	label := flag.String("label", "", "regular `expression` whose first group is the label in the path of a clip")
	bench.Main("detectors", func(ctx context.Context) error {
		return run(ctx, os.Stdout, *words, *label, os.Getenv("S4D_HELDOUT"), flag.Args())
	})
}

// run prints the tables of the model args[0]. The other arguments are background. It prints them
// again for the same paths in the folder heldOut, if that is not empty.
func run(ctx context.Context, w io.Writer, words, label, heldOut string, args []string) error {
	if len(args) == 0 || words == "" && len(args) == 1 {
		return errors.New("expected a model, and clips (-words) or folders of background")
	}
	m, err := pretrained.Open(args[0])
	if err != nil {
		return err
	}
	d := detector{m, events.DefaultsFor(m)}
	for _, root := range slices.Compact([]string{"", heldOut}) {
		if root != "" {
			fmt.Fprint(w, "\nThe same in S4D_HELDOUT:\n\n")
		}
		if words != "" {
			if err := d.words(ctx, w, filepath.Join(root, words), label); err != nil {
				return err
			}
		}
		var background []string
		for _, path := range args[1:] {
			background = append(background, filepath.Join(root, path))
		}
		if err := d.background(ctx, w, background); err != nil {
			return err
		}
	}
	return nil
}

// detector is a model with its operating point.
type detector struct {
	model *model.Model
	point events.Options
}

// snrs are in dB; the first one is no noise.
var snrs = []float64{math.Inf(1), 30, 20, 10}

// gaps are the shortest and the longest gap between words, in seconds.
var gaps = [][2]float64{{0.3, 1.5}, {0.1, 0.3}}

// words prints how well clips are found in streams.
func (d detector) words(ctx context.Context, w io.Writer, path, label string) error {
	var pattern *regexp.Regexp
	if label != "" {
		var err error
		if pattern, err = regexp.Compile(label); err != nil {
			return err
		}
	}
	clips, _, _, err := calibration.Clips(path, d.model.Meta.Labels, pattern)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d clips of words. An event counts for the word that it overlaps, or that is within 0.3 s.\n\n| SNR |", len(clips))
	for _, g := range gaps {
		fmt.Fprintf(w, " missed, gaps of %g–%g s | precision | F1 |", g[0], g[1])
	}
	fmt.Fprint(w, "\n|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, snr := range snrs {
		noise := fmt.Sprintf("%g dB", snr)
		if math.IsInf(snr, 1) {
			noise = "no noise"
		}
		fmt.Fprintf(w, "| %s |", noise)
		for _, g := range gaps {
			opt := calibration.DefaultWords(d.model.Meta.SampleRate)
			opt.SNR, opt.MinGap, opt.MaxGap = snr, g[0], g[1]
			streams, _, err := calibration.WordStreams(ctx, clips, opt)
			if err != nil {
				return err
			}
			p, err := d.measure(ctx, streams)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, " %.1f %% | %.3f | %.3f |", 100*(1-p.Recall()), p.Precision(), p.F1())
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return nil
}

// background prints the false alarms in each folder, with a 95 % interval.
func (d detector) background(ctx context.Context, w io.Writer, folders []string) error {
	if len(folders) == 0 {
		return nil
	}
	var streams []calibration.Stream
	for _, path := range folders {
		s, _, err := calibration.BackgroundStreams(path, d.model.Meta.SampleRate, false, audio.Options{})
		if err != nil {
			return err
		}
		streams = append(streams, s...)
	}
	p, err := d.measure(ctx, streams)
	if err != nil {
		return err
	}
	fmt.Fprint(w, "| background | hours | false alarms | per hour | 95 % interval |\n|---|---:|---:|---:|---:|\n")
	for _, b := range p.Backgrounds {
		rate, low, high := b.FalseAlarmRate()
		fmt.Fprintf(w, "| %s | %.2f | %d | %.2f | %.2f to %.2f |\n", filepath.Base(b.Name), b.Hours, b.FalseAlarms, rate, low, high)
	}
	return nil
}

// measure measures streams at the operating point.
func (d detector) measure(ctx context.Context, streams []calibration.Stream) (calibration.Point, error) {
	trained, err := calibration.Trained(ctx, d.model, streams, 0)
	if err != nil {
		return calibration.Point{}, err
	}
	if len(trained) > 0 {
		return calibration.Point{}, fmt.Errorf("%d of the recordings trained the model, such as %s", len(trained), trained[0])
	}
	opt := calibration.Defaults(d.point)
	opt.Candidates = []events.Options{d.point}
	m, err := calibration.Measure(ctx, d.model, streams, opt)
	if err != nil {
		return calibration.Point{}, err
	}
	return m.Points[0], nil
}
