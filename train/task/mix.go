package task

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// MixOptions are the options of tasks that train word detectors on streams mixed from recordings.
// The defaults of 0 and empty options are those of recordings.DefaultStreams.
type MixOptions struct {
	Words      []string  `toml:"words" local:"true" type:"path" placeholder:"DIR,..." help:"Folders with further training clips, WORD/*."`
	Other      []string  `toml:"other" local:"true" type:"path" placeholder:"DIR,..." help:"Folders with words and speech that are not to be detected."`
	Background []string  `toml:"background" local:"true" type:"path" placeholder:"DIR,..." help:"Folders with sounds other than speech."`
	Streams    int       `toml:"streams" kong:"-"` // training streams per epoch; 0: by the number of clips
	Seconds    float64   `toml:"seconds" kong:"-"` // of a stream
	SNR        []float64 `toml:"snr" kong:"-"`     // dB: bounds
	Bands      int       `toml:"bands" kong:"-"`   // of the filter bank
	Label      string    `toml:"label" kong:"-"`   // labelWord or labelWhole; "": by the duration of the sounds
}

// setDefaults replaces options that are 0 or empty, except those whose defaults depend on the data.
func (o *MixOptions) setDefaults() {
	o.Bands = cmp.Or(o.Bands, recordings.DefaultStreams(1).Filterbank.Bands)
}

// What has a label: the end of a word, or all of a sound. Recordings whose sounds last longer than
// longestWord seconds (median) are not words.
const (
	labelWord, labelWhole = "word", "whole"
	longestWord           = 2.0
)

// The least numbers of streams. With few recordings, they ensure that an epoch is long enough
// between two validations, and that the validation set is large enough to compare results.
const leastStreams, leastValStreams = 640, 160

// An epoch has two streams for each training clip, but at most enoughStreams, or a stream for three
// clips if that is more.
const enoughStreams = 4800

// wakeShare is the share of other speech, in items and in streams, of a detector of one word.
const wakeShare = 0.4

// check validates the options for audio of any rate.
func (o MixOptions) check(rate float64) error {
	_, err := o.streams(rate, Source{}, 0, 0)
	return err
}

// streams returns the options of streams of audio at a rate in Hz, with a number of clips for
// training and for validation.
func (o MixOptions) streams(rate float64, src Source, train, val int) (recordings.StreamOptions, error) {
	opt := recordings.DefaultStreams(rate)
	opt.Seed, opt.Streams, opt.ValStreams = src.Seed, o.Streams, max(val/3, leastValStreams)
	if opt.Streams == 0 {
		opt.Streams = max(train/3, min(2*train, enoughStreams), leastStreams)
	}
	opt.Length, opt.Filterbank.Bands = cmp.Or(o.Seconds, opt.Length), cmp.Or(o.Bands, opt.Filterbank.Bands)
	switch o.Label {
	case "", labelWord, labelWhole:
	default:
		return opt, fmt.Errorf("data.label %q: expected %q or %q", o.Label, labelWord, labelWhole)
	}
	switch len(o.SNR) {
	case 0:
	case 2:
		opt.SNR = recordings.Range{Low: o.SNR[0], High: o.SNR[1]}
	default:
		return opt, fmt.Errorf("data.snr %v: expected two numbers, its bounds", o.SNR)
	}
	if err := opt.Validate(); err != nil {
		return opt, fmt.Errorf("data.streams, data.seconds, data.snr, data.bands: %w", err)
	}
	return opt, nil
}

// addFolders appends the recordings in the folders of the options to the training sounds, and holds
// out some that are not words for validation. names returns the names that the folder of a label
// may have. addFolders returns the errors of broken recordings.
func (o MixOptions) addFolders(ctx context.Context, to, val *recordings.Sounds, names func(label string) []string, opt recordings.Options) (broken []error, err error) {
	read := func(dst *[]recordings.Clip, label int, dirs ...string) error {
		if len(dirs) == 0 {
			return nil
		}
		clips, bad, err := recordings.Clips(ctx, dirs, opt)
		for i := range clips {
			clips[i].Label = label
		}
		*dst, broken = append(*dst, clips...), append(broken, bad...)
		return err
	}
	if err := cmp.Or(checkFolders("words", o.Words), checkFolders("other", o.Other), checkFolders("background", o.Background)); err != nil {
		return nil, err
	}
	for _, dir := range o.Words {
		found := false
		for label, word := range to.Labels {
			for _, name := range names(word) {
				folder := filepath.Join(dir, name)
				isFolder, err := datafile.IsFolder(folder)
				if isFolder {
					found, err = true, read(&to.Words, label, folder)
				}
				if err != nil {
					return nil, err
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("data.words: %s has no folder with the name of a word, such as %s", dir, filepath.Join(dir, to.Labels[0]))
		}
	}
	for _, s := range []struct {
		folders  []string
		dst, val *[]recordings.Clip
	}{{o.Other, &to.Other, &val.Other}, {o.Background, &to.Background, &val.Background}} {
		for k, dir := range s.folders {
			first := len(*s.dst)
			if err := read(s.dst, 0, dir); err != nil {
				return nil, err
			}
			for c := range (*s.dst)[first:] {
				(*s.dst)[first+c].Source = 1 + k // 0: the data set
			}
			if err := recordings.HoldOut(s.dst, s.val, first, opt); err != nil {
				return nil, err
			}
		}
	}
	return broken, nil
}

// checkFolders returns an error for the first path of an option that is not a folder. The error is
// not fs.ErrNotExist, because Task.Load adds to that one what --data expects.
func checkFolders(option string, paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil {
			return fmt.Errorf("--%s (data.%[1]s): %v", option, err)
		} else if !info.IsDir() {
			return fmt.Errorf("--%s (data.%[1]s): %s is not a folder", option, path)
		}
	}
	return nil
}

// mix returns the streams of the requested splits. If a model is evaluated (src.Model), the streams
// of the training recordings are also the same in every epoch.
func (o MixOptions) mix(src Source, train, val, test recordings.Sounds) (*dataset.Dataset, error) {
	opt, err := o.streams(train.SampleRate, src, len(train.Words), len(val.Words)+len(test.Words))
	if err != nil {
		return nil, err
	}
	if len(train.Labels) == 1 {
		opt.OtherShare, opt.WordlessShare = wakeShare, wakeShare
	}
	d := &dataset.Dataset{}
	sounds := train
	if len(train.Words) == 0 {
		sounds.Words = slices.Concat(val.Words, test.Words)
	}
	seconds := sounds.Duration()
	if opt.Whole = o.Label == labelWhole || o.Label == "" && seconds > longestWord; opt.Whole {
		opt.LabelLatest, opt.Speed = 0.5, recordings.Range{Low: 0.75, High: 1.35}
		if len(o.SNR) == 0 {
			opt.SNR.Low = 5
		}
		if o.Seconds == 0 {
			opt.Length = 6
		}
		if o.Label == "" {
			d.Notes = append(d.Notes, fmt.Sprintf("the sounds last %.1f s (median), so all of each has its label, not only the end as of a word; data.label=%s changes that", seconds, labelWord))
		}
	}
	for _, s := range []struct {
		part   split
		sounds recordings.Sounds
		set    *dataset.Set
	}{{trainSplit, train, &d.Train}, {valSplit, val, &d.Val}, {testSplit, test, &d.Test}} {
		if len(s.sounds.Words) == 0 || !src.includes(s.part) {
			continue
		}
		sounds := [2]recordings.Sounds{{}, s.sounds} // for training, for validation
		if s.part == trainSplit && src.Model == nil {
			sounds = [2]recordings.Sounds{s.sounds, {}}
		}
		mixed, err := recordings.MixStreams(sounds[0], sounds[1], opt)
		if err != nil {
			return nil, err
		}
		d.Info = mixed.Info
		if *s.set = mixed.Val; mixed.Train != nil {
			*s.set, d.Mean, d.Std, d.Recordings = mixed.Train, mixed.Mean, mixed.Std, mixed.Recordings
		}
	}
	if d.Outputs == 0 {
		return nil, fmt.Errorf("the split %q has no recordings of words", cmp.Or(src.Split, "all"))
	}
	return d, nil
}
