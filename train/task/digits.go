package task

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

func init() {
	register(definition[digitsOptions]{
		name: "digits", help: "Spoken digits among other sounds, as a word detector, trained on the recordings of fsdd.",
		source: fsddSource, sampleRate: fsddRate, check: digitsOptions.check, load: loadDigits, atRate: digitsAtRate, forModel: digitsForModel, confusion: clipConfusion,
	})
}

// digitsOptions are the options of the task digits.
type digitsOptions struct {
	// Frames selects streams with a label per frame of a filter bank. Otherwise examples are single
	// clips, as for the models of earlier versions.
	Frames bool `toml:"frames"`
	clipOptions
	MixOptions
}

func (o digitsOptions) check() error {
	if o.Frames && (o.MaxLen != 0 || o.Decimate > 1 || o.Rate != 0) {
		return fmt.Errorf("data.max_len %d, data.decimate %d, data.rate %d: expected 0 with data.frames", o.MaxLen, o.Decimate, o.Rate)
	}
	if err := o.clipOptions.check(); err != nil {
		return err
	}
	return o.MixOptions.check(fsddRate)
}

// digitsForModel selects clips for models without a filter bank: those of earlier versions.
func digitsForModel(o *digitsOptions, m *model.Model) {
	if o.Frames = m.Meta.Filterbank != nil; !o.Frames && m.Meta.Data == nil {
		o.MaxLen = 5000 // as in the preset of earlier versions
	}
}

func digitsAtRate(o *digitsOptions, hz float64) error {
	if o.Frames && hz != fsddRate {
		return fmt.Errorf("rate %g Hz: expected %d Hz, the rate of the filter bank", hz, fsddRate)
	}
	if o.Frames {
		return nil
	}
	return o.convertTo(fsddRate, hz)
}

// digitNames are the names that the folder of a digit may have besides the digit.
var digitNames = strings.Fields("zero one two three four five six seven eight nine")

// loadDigits loads fsdd as streams, or as clips (loadDigitClips).
func loadDigits(ctx context.Context, src Source, o digitsOptions) (*dataset.Dataset, error) {
	if !o.Frames {
		return loadDigitClips(ctx, src, o.clipOptions)
	}
	entries, err := fsddEntries(src.Dir)
	if err != nil {
		return nil, err
	}
	sounds := map[split]*recordings.Sounds{}
	for _, part := range []split{trainSplit, valSplit, testSplit} {
		sounds[part] = &recordings.Sounds{SampleRate: fsddRate, Labels: fsddLabels()}
	}
	whole := clipFormat{rate: fsddRate, maxLen: math.MaxInt, decimate: 1}
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if src.includes(e.split) {
			c, err := whole.load(e)
			if err != nil {
				return nil, err
			}
			sounds[e.split].Words = append(sounds[e.split].Words, c)
		}
		src.progress(i+1, len(entries))
	}
	if src.includes(trainSplit) {
		names := func(label string) []string { return []string{label, digitNames[label[0]-'0']} }
		if _, err := o.addFolders(ctx, sounds[trainSplit], names, recordings.Options{SampleRate: fsddRate, Workers: src.Workers}); err != nil {
			return nil, err
		}
	}
	return o.mix(src, *sounds[trainSplit], *sounds[valSplit], *sounds[testSplit])
}

// loadDigitClips loads fsdd and replaces its training set by a digitsSet.
func loadDigitClips(ctx context.Context, src Source, o clipOptions) (*dataset.Dataset, error) {
	d, err := loadFSDD(ctx, src, o)
	if err != nil {
		return nil, err
	}
	d.Labels = append(d.Labels, "none")
	d.Outputs = len(d.Labels)
	if clips, ok := d.Train.(*clipSet); ok {
		padding := int((digitsMaxBefore + digitsMaxAfter) * d.SampleRate)
		d.Train = &digitsSet{clips: clips, padding: padding, rate: d.SampleRate, seed: src.Seed}
		for i := range d.Train.Len() {
			d.MaxLen = max(d.MaxLen, d.Train.(dataset.Sized).Length(i))
		}
	}
	for i := range d.Std {
		d.Std[i] /= digitsInputStd
	}
	return d, nil
}
