package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
)

// sources are the streams to measure, and what they are made of.
type sources struct {
	streams []calibration.Stream
	words   calibration.WordOptions
	unknown []string // labels of clips that the model does not have
	ignored []string // files that are not clips or background, each with the reason
	skipped []error  // clips that cannot be read
	trained []string // files on which the model was trained
	known   bool     // the model stores what it was trained on
	notes   audioNotes
}

type detection struct {
	*calibration.Measurement
	*sources
	own calibration.Point // of the model's options, without new offsets
}

// sources finds the files and makes streams of them.
func (c *calibrateCmd) sources(ctx context.Context, m *model.Model) (*sources, error) {
	if _, err := events.New(m, events.DefaultsFor(m)); err != nil {
		return nil, badInput(err)
	}
	r := &sources{words: calibration.DefaultWords(m.Meta.SampleRate)}
	read := func(flag, path string) (streams []calibration.Stream, err error) {
		streams, ignored, err := calibration.BackgroundStreams(path, m.Meta.SampleRate, c.SkipBroken, c.audio(&r.notes, ""))
		r.ignored = append(r.ignored, ignored...)
		if err != nil {
			err = badInput(fmt.Errorf("--%s: %w", flag, err))
		}
		return streams, err
	}
	var background []calibration.Stream
	for _, path := range c.Background {
		streams, err := read("background", path)
		if err != nil {
			return nil, err
		}
		background = append(background, streams...)
	}
	if c.Words != "" {
		switch c.Noise {
		case "white":
		case "background":
			r.words.Noise = background
		default:
			var err error
			if r.words.Noise, err = read("noise", c.Noise); err != nil {
				return nil, err
			}
		}
		if err := c.clips(ctx, m, r); err != nil {
			return nil, interruptOr(ctx, err)
		}
	}
	r.streams = append(r.streams, background...)
	r.known = len(m.Meta.Recordings) > 0
	var err error
	if r.trained, err = calibration.Trained(ctx, m, r.streams, c.Threads); err != nil {
		return nil, err
	}
	if n := len(r.trained); n > 0 && !c.AllowTrainingData {
		list := names(r.trained[:min(n, maxIgnored)])
		if n > maxIgnored {
			list += fmt.Sprintf(" and %d more", n-maxIgnored)
		}
		return nil, badInput(fmt.Errorf("the model was trained on %d of the recordings, which makes the figures better than they are: use others, or pass --allow-training-data: %s", n, list))
	}
	return r, nil
}

// trainedOn says how many of the files of a background trained the model; "" is the words.
func (r *sources) trainedOn(background string) string {
	trained, all := 0, 0
	for _, s := range r.streams {
		if s.Background == background {
			all += len(s.Files)
			for _, path := range s.Files {
				if slices.Contains(r.trained, path) {
					trained++
				}
			}
		}
	}
	if !r.known {
		return "not known"
	}
	return fmt.Sprintf("%d of %d files", trained, all)
}

// clips makes streams of the clips of words.
func (c *calibrateCmd) clips(ctx context.Context, m *model.Model, r *sources) (err error) {
	var pattern *regexp.Regexp
	if c.Label != "" {
		pattern = regexp.MustCompile(c.Label) // checked
	}
	clips, unknown, ignored, err := calibration.Clips(c.Words, m.Meta.Labels, pattern)
	if err != nil {
		return fmt.Errorf("--words: %w", err)
	}
	r.unknown, r.ignored = unknown, append(ignored, r.ignored...)
	r.words.SkipBroken, r.words.Workers, r.words.Audio = c.SkipBroken, c.Threads, c.audio(&r.notes, "")
	if r.words.SNR, err = c.snr(); err != nil {
		return err
	}
	r.streams, r.skipped, err = calibration.WordStreams(ctx, clips, r.words)
	return err
}

// measure tries many options. The first point is that of the model.
func (c *calibrateCmd) measure(ctx context.Context, std *streams, m *model.Model, r *sources) (*detection, error) {
	opt := calibration.Defaults(events.DefaultsFor(m))
	opt.Tolerance, opt.Workers, opt.List = c.Tolerance, c.Threads, c.List
	if std.errTTY {
		opt.Progress = func(p calibration.Progress) {
			fmt.Fprintf(std.err, "\rmeasured %d of %d streams, %.2f hours of audio ", p.Streams, p.Of, p.Seconds/3600)
			if p.Streams == p.Of {
				fmt.Fprintln(std.err)
			}
		}
	}
	measured, err := calibration.Measure(ctx, m, r.streams, opt)
	if err != nil {
		return nil, interruptOr(ctx, err)
	}
	for _, b := range measured.Points[0].Backgrounds {
		if b.Hours == 0 {
			err := fmt.Errorf("--background: %q has no samples: remove it or add recordings", b.Name)
			return nil, badInput(errors.Join(append([]error{err}, measured.Skipped...)...))
		}
	}
	return &detection{Measurement: measured, sources: r}, nil
}

// interruptOr returns the cause of ctx if it has ended, else err as bad input.
func interruptOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return badInput(err)
}

// thresholdOf returns the threshold of a label with an offset: the probability without the offset
// at which the label reaches the model's threshold.
func thresholdOf(threshold, offset float64) float64 {
	return 1 / (1 + (1-threshold)/threshold*math.Exp(offset))
}

// thresholdsText lists the thresholds of all labels except none.
func thresholdsText(labels []string, offsets []float64, threshold float64) string {
	var each []string
	for i, offset := range offsets {
		if labels[i] != events.None {
			each = append(each, fmt.Sprintf("%s %.4g", labels[i], thresholdOf(threshold, offset)))
		}
	}
	return names(each)
}

// maxIgnored is the number of ignored files that warn lists.
const maxIgnored = 10

// warn reports files that were left out, and background that is too short for a rate per hour.
func (d *detection) warn(w io.Writer, falseAlarms float64) {
	for i, file := range d.ignored {
		if i == maxIgnored {
			fmt.Fprintf(w, "ignored %d more files\n", len(d.ignored)-i)
			break
		}
		fmt.Fprintf(w, "ignored %s\n", printable(file, ""))
	}
	for _, err := range slices.Concat(d.skipped, d.Skipped) {
		fmt.Fprintf(w, "skipped %s\n", printable(err.Error(), ""))
	}
	if !d.known {
		fmt.Fprintln(w, "note: the model does not store which recordings it was trained on; the figures are too good if some of these are among them")
	}
	var short []string
	for _, b := range d.own.Backgrounds {
		if b.Hours*falseAlarms < 3 {
			short = append(short, fmt.Sprintf("%.2g hours of %s", b.Hours, b.Name))
		}
	}
	if falseAlarms > 0 && len(short) > 0 {
		fmt.Fprintf(w, "warning: %s cannot show that there are fewer than %g false alarms per hour; that takes %.3g hours\n",
			printable(strings.Join(short, ", "), ""), falseAlarms, 3/falseAlarms)
	}
}
