package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/model"
)

// detectionFlags select the streams to measure.
type detectionFlags struct {
	Words      string   `help:"Clips of words: a folder with one folder of audio files per label, or a text file with one path per line, optionally followed by a tab and a label." placeholder:"PATH" group:"Streams"`
	Label      string   `help:"Regular expression that is matched against the paths below --words. Its first group is the label; files that do not match are left out (default: the name of the folder is the label)." placeholder:"REGEXP" group:"Streams"`
	Background []string `help:"Audio without any of the words, a file or a folder with files at any depth; repeatable." placeholder:"PATH" sep:"none" group:"Streams"`
	Generated  float64  `help:"Minutes of generated noise, and as many of generated notes, to add to the background." placeholder:"MIN" group:"Streams"`
	Gap        gapRange `help:"Shortest and longest gap between clips in seconds." default:"0.3,1.5" placeholder:"MIN,MAX" group:"Streams"`
	SNR        string   `name:"snr" help:"Mean power of the words over that of the noise, in dB, or clean for no noise." default:"20" placeholder:"DB" group:"Streams"`
	Noise      string   `help:"Noise in the streams of words: white, or a piece of the background." enum:"white,background" default:"white" placeholder:"NOISE" group:"Streams"`
	Tolerance  float64  `help:"Largest distance between the onsets of a word and of its event, in seconds." default:"0.3" placeholder:"S" group:"Streams"`
	Refractory *float64 `help:"Refractory time of the operating points, in seconds (default: that of the model; with --write: ${refractory})." placeholder:"S" group:"Streams"`
	Plot       plotFile `help:"Draw missed words against false alarms to FILE, PNG or SVG." type:"path" placeholder:"FILE" group:"Streams"`
	List       int      `help:"List up to N false alarms, highest confidence first, and up to N missed words, with their files." default:"0" placeholder:"N" group:"Streams"`
	SkipBroken bool     `help:"Leave out audio files that cannot be read, and list them." group:"Streams"`

	listed *clipList `kong:"-"` // nil: not read yet
}

// clipList is what --words names: clips of words and, with the label none, other clips. It is read
// once, because a list may be a pipe.
type clipList struct {
	clips            []calibration.Clip
	unknown, ignored []string
}

// gapRange is the shortest and the longest gap between clips in seconds.
type gapRange [2]float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *gapRange) UnmarshalText(text []byte) error {
	low, high, _ := strings.Cut(string(text), ",")
	var errs [2]error
	g[0], errs[0] = strconv.ParseFloat(low, 64)
	g[1], errs[1] = strconv.ParseFloat(high, 64)
	if errors.Join(errs[:]...) != nil || !(g[0] >= 0 && g[0] <= g[1] && g[1] <= calibration.LongestGap) {
		return fmt.Errorf("%s: expected the shortest and the longest gap, two numbers from 0 to %d such as 0.3,1.5", text, calibration.LongestGap)
	}
	return nil
}

const maxList = 1000 // recordings of --list

// detection is a measurement, with the options and the clips that it was made with.
type detection struct {
	*calibration.Measurement
	words   calibration.WordOptions
	clips   int
	unknown []string // labels of clips that the model does not have
	ignored []string // files that are not clips or background, each with the reason

	classified []calibration.Classified // clips on their own, if classify was called
}

// validate checks flags that kong does not.
func (f *detectionFlags) validate() error {
	switch {
	case f.Words == "" && len(f.Background) == 0 && f.Generated == 0:
		return errors.New("nothing to measure: set --words, --background or --generated")
	case f.List < 0 || f.List > maxList:
		return fmt.Errorf("--list %d: expected 0 to %d", f.List, maxList)
	case !(f.Generated >= 0 && f.Generated <= calibration.MaxGenerated):
		return fmt.Errorf("--generated %v: expected 0 to %d minutes", f.Generated, calibration.MaxGenerated)
	case !(f.Tolerance > 0 && f.Tolerance <= calibration.MaxTolerance):
		return fmt.Errorf("--tolerance %v: expected more than 0 and at most %d seconds", f.Tolerance, calibration.MaxTolerance)
	case f.Noise == "background" && len(f.Background) == 0 && f.Generated == 0:
		return errors.New("--noise background requires --background or --generated")
	}
	if _, err := regexp.Compile(f.Label); err != nil {
		return fmt.Errorf("--label: %w", err)
	}
	_, err := f.snr()
	return err
}

func (f *detectionFlags) snr() (float64, error) {
	if f.SNR == "clean" {
		return math.Inf(1), nil
	}
	snr, err := strconv.ParseFloat(f.SNR, 64)
	if err != nil || math.IsNaN(snr) || snr < -100 {
		return 0, fmt.Errorf("--snr %s: expected a number of dB from -100, or clean", f.SNR)
	}
	return snr, nil
}

// measure reads the streams and tries many options. The first point is that of the model.
func (f *detectionFlags) measure(ctx context.Context, std *streams, m *model.Model, seed uint64, workers int) (*detection, error) {
	base := events.DefaultsFor(m)
	base.Refractory = or(f.Refractory, base.Refractory)
	if err := base.Validate(); err != nil {
		return nil, usageError(fmt.Errorf("--%w", err))
	}
	opt := calibration.Defaults(base)
	opt.Tolerance, opt.Workers, opt.List = f.Tolerance, workers, f.List
	if _, err := events.New(m, base); err != nil {
		return nil, badInput(err)
	}
	d := &detection{words: calibration.DefaultWords(m.Meta.SampleRate)}
	background, err := f.background(d, m.Meta.SampleRate, seed)
	if err != nil {
		return nil, badInput(err)
	}
	all := background
	var skipped []error
	if f.Words != "" {
		var words []calibration.Stream
		words, skipped, err = f.words(ctx, d, m, background, seed, workers)
		if err != nil {
			return nil, interruptOr(ctx, err)
		}
		all = append(words, background...)
	}
	if std.errTTY {
		opt.Progress = func(p calibration.Progress) {
			fmt.Fprintf(std.err, "\rmeasured %d of %d streams, %.2f hours of audio ", p.Streams, p.Of, p.Seconds/3600)
			if p.Streams == p.Of {
				fmt.Fprintln(std.err)
			}
		}
	}
	if d.Measurement, err = calibration.Measure(ctx, m, all, opt); err != nil {
		return nil, interruptOr(ctx, err)
	}
	for _, g := range d.Groups {
		if g.Seconds == 0 {
			err := fmt.Errorf("--background: %q has no samples: remove it or add recordings", g.Name)
			return nil, badInput(errors.Join(append([]error{err}, d.Skipped...)...))
		}
	}
	d.Skipped = append(skipped, d.Skipped...)
	return d, nil
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

// interruptOr returns the cause of ctx if it has ended, else err as bad input.
func interruptOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return badInput(err)
}

// background returns the streams without words, and records in d which files are ignored.
func (f *detectionFlags) background(d *detection, rate float64, seed uint64) (all []calibration.Stream, err error) {
	for _, path := range f.Background {
		streams, ignored, err := calibration.Background(path, rate, f.SkipBroken)
		if err != nil {
			return nil, fmt.Errorf("--background: %w", err)
		}
		d.ignored = append(d.ignored, ignored...)
		all = append(all, streams...)
	}
	if f.Generated > 0 {
		streams, err := calibration.Generated(f.Generated, rate, seed)
		if err != nil {
			return nil, err
		}
		all = append(all, streams...)
	}
	return all, nil
}

// words returns the streams of words, and records in d what they are made of.
func (f *detectionFlags) words(ctx context.Context, d *detection, m *model.Model, background []calibration.Stream, seed uint64, workers int) (streams []calibration.Stream, skipped []error, err error) {
	listed, err := f.list(ctx, m)
	if err != nil {
		return nil, nil, fmt.Errorf("--words: %w", err)
	}
	clips := slices.DeleteFunc(slices.Clone(listed.clips), func(c calibration.Clip) bool { return c.Label == events.None })
	w := &d.words
	w.MinGap, w.MaxGap, w.Seed, w.SkipBroken, w.Workers = f.Gap[0], f.Gap[1], seed, f.SkipBroken, workers
	if w.SNR, err = f.snr(); err != nil {
		return nil, nil, err
	}
	if f.Noise == "background" {
		w.Noise = background
	}
	d.clips, d.unknown, d.ignored = len(clips), listed.unknown, slices.Concat(listed.ignored, d.ignored)
	return calibration.WordStreams(ctx, clips, *w)
}

// list returns the clips that --words names.
func (f *detectionFlags) list(ctx context.Context, m *model.Model) (*clipList, error) {
	if f.listed != nil {
		return f.listed, nil
	}
	o := calibration.ClipOptions{Labels: m.Meta.Labels, Others: true}
	if f.Label != "" {
		o.Pattern = regexp.MustCompile(f.Label) // validated
	}
	list, err := orInterrupt(ctx, func() (*clipList, error) {
		clips, unknown, ignored, err := calibration.Clips(f.Words, o)
		return &clipList{clips, unknown, ignored}, err
	})
	if err == nil {
		f.listed = list
	}
	return list, err
}

// classify classifies the clips one by one, if the model has a filter bank. Clips of labels that it
// does not have count as none.
func (f *detectionFlags) classify(ctx context.Context, d *detection, m *model.Model, seed uint64, workers int) error {
	if f.Words == "" || m.Meta.Filterbank == nil {
		return nil
	}
	listed, err := f.list(ctx, m)
	if err == nil {
		opt := calibration.ClassifyOptions{Events: d.Points[0].Options, SNR: d.words.SNR, Seed: seed, SkipBroken: f.SkipBroken, Workers: workers}
		d.classified, _, err = calibration.Classify(ctx, m, listed.clips, opt)
	}
	if err != nil {
		return interruptOr(ctx, err)
	}
	return nil
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
	for _, err := range d.Skipped {
		fmt.Fprintf(w, "skipped %s\n", printable(err.Error(), ""))
	}
	if hours := d.Points[0].Hours; falseAlarms > 0 && hours*falseAlarms < 3 {
		fmt.Fprintf(w, "warning: %.2g hours of background cannot show that there are fewer than %g false alarms per hour; that takes %.3g hours\n",
			hours, falseAlarms, 3/falseAlarms)
	}
}
