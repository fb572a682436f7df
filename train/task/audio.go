package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

func init() {
	register(Task{
		name:   "audio",
		source: "pass a folder with one folder of recordings per word: DIR/WORD/*; folders whose name begins with _ contain other words and background",
		options: func() options {
			return &audioOptions{AudioOptions: AudioOptions{Channel: -2}, ValidationOption: ValidationOption{Validation: 0.1}}
		}, detector: true,
	})
}

// audioOptions are the options of the task audio. 0 and empty are defaults.
type audioOptions struct {
	AudioOptions
	ValidationOption
	MixOptions
}

// AudioOptions are the options that only the task audio has.
type AudioOptions struct {
	Rate       int    `toml:"rate" placeholder:"HZ" help:"Sampling rate in Hz to which recordings are converted."`
	GroupBy    string `toml:"group_by" placeholder:"REGEXP" help:"Regular expression that finds the speaker in a file name; all files of a speaker are in the same split."`
	Wake       string `toml:"wake" placeholder:"WORD" help:"The only word to detect; the folders of other words are other speech, and the threshold allows one false alarm an hour."`
	SkipBroken bool   `toml:"skip_broken" help:"Leave out broken recordings."`
	Channel    int    `toml:"channel" placeholder:"N" help:"The only channel to read of each recording, from 0; -1: the mean of all (default: the mean, with a note if channels differ)."` // −2: the default
}

// ValidationOption is an option of the tasks audio and series.
type ValidationOption struct {
	Validation float64 `toml:"validation" placeholder:"FRACTION" help:"Fraction of the speakers, files, series or rows that is the validation set, unless the data have their own split (default: 0.1)."`
}

// maxIgnored is the largest number of notes of a kind.
const maxIgnored = 10

const moreNotes = "%d more notes on recordings"

// audioRate is the sampling rate in Hz without --rate.
const audioRate = 16000

func (o audioOptions) rate() int { return cmp.Or(o.Rate, audioRate) }

func (o *audioOptions) setDefaults() {
	o.Rate = o.rate()
	o.MixOptions.setDefaults()
}

func (o audioOptions) check() error {
	if o.Rate < 0 || o.Rate > math.MaxInt32 {
		return fmt.Errorf("--rate %d Hz: expected a sampling rate", o.Rate)
	}
	if o.Channel < -2 {
		return fmt.Errorf("data.channel %d: expected a channel, from 0, or -1 for the mean of all", o.Channel)
	}
	if !(o.Validation >= 0 && o.Validation < 1) {
		return fmt.Errorf("data.validation %v: expected at least 0 and less than 1", o.Validation)
	}
	if _, err := regexp.Compile(o.GroupBy); err != nil {
		return fmt.Errorf("--group-by: %w", err)
	}
	return o.MixOptions.check(float64(o.rate()))
}

// checkFrom returns an error if the options select another filter bank than that of a model.
func (o audioOptions) checkFrom(m *model.Model) error {
	bank := m.Meta.Filterbank
	if bank == nil {
		return nil // train.New reports it
	}
	if rate := o.rate(); float64(rate) != bank.SampleRate {
		return fmt.Errorf("--rate is %d Hz, but the model to start from reads audio at %g Hz: pass --rate %[2]g", rate, bank.SampleRate)
	}
	opt, err := o.streams(bank.SampleRate, Source{}, 0, 0)
	if n := opt.Filterbank.Bands; err == nil && n != bank.Bands {
		err = fmt.Errorf("data.bands is %d, but the model to start from has a filter bank of %d bands: pass --set data.bands=%[2]d", n, bank.Bands)
	}
	return err
}

// load reads a folder of recordings and mixes them into streams with a label per frame of a
// filter bank. Words in the folders of the options are for training only; other speech and
// background are split like those of the folder.
func (o audioOptions) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	var labels []string
	if src.Model != nil {
		labels = src.Model.Meta.Labels
	}
	if n := len(labels); n > 0 && labels[n-1] == recordings.NoneLabel {
		labels = labels[:n-1]
	}
	opt := recordings.Options{Labels: labels, SampleRate: o.rate(), Validation: o.Validation, GroupBy: o.GroupBy, Wake: o.Wake, Split: src.Split, SkipBroken: o.SkipBroken, Workers: src.Workers, Progress: src.Progress}
	opt.Audio.FFmpeg = true
	if o.Channel >= -1 {
		opt.Audio.Channel = &o.Channel
	}
	var notes []string
	opt.Audio.Note = func(text string) { notes = append(notes, text) }
	r, err := recordings.Folder(ctx, src.Dir, opt)
	if broken := (*recordings.BrokenError)(nil); errors.As(err, &broken) {
		return nil, fmt.Errorf("%w\n--skip-broken (data.skip_broken) leaves them out", err)
	}
	if err != nil {
		return nil, err
	}
	broken := r.Broken
	if src.includes(trainSplit) || src.includes(valSplit) {
		more, err := o.addFolders(ctx, &r.Train, &r.Val, func(label string) []string { return []string{label} }, opt)
		if err != nil {
			return nil, err
		}
		broken = append(broken, more...)
	}
	d, err := o.mix(src, r.Train, r.Val, r.Test)
	if err != nil {
		return nil, err
	}
	d.Notes = append(d.Notes, r.Notes...)
	if o.Wake != "" && src.Model == nil && len(r.Val.Other)+len(r.Val.Background) == 0 {
		d.Notes = append(d.Notes, "there is neither other speech nor background for validation, so the threshold is the default: add recordings")
	}
	d.Notes = append(d.Notes, few(notes, moreNotes)...)
	for _, err := range broken {
		d.Notes = append(d.Notes, "broken, left out: "+err.Error())
	}
	for i, file := range r.Ignored {
		r.Ignored[i] = "left out: " + file
	}
	d.Notes = append(d.Notes, few(r.Ignored, "left out: %d more files that are not recordings")...)
	return d, nil
}

// few returns at most maxIgnored of a list, in order, and how many more there are.
func few(list []string, more string) []string {
	slices.Sort(list) // recordings are read in any order
	if n := len(list) - maxIgnored; n > 0 {
		return append(list[:maxIgnored], fmt.Sprintf(more, n))
	}
	return list
}
