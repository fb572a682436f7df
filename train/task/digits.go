package task

import (
	"context"
	"math"
	"strings"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

func init() {
	register(Task{
		name:   "digits",
		source: fsddSource, options: func() options { return &digitsOptions{} }, detector: true,
	})
}

// digitsOptions are the options of the task digits.
type digitsOptions struct{ MixOptions }

func (o digitsOptions) check() error { return o.MixOptions.check(fsddRate) }

// digitNames are the names that the folder of a digit may have besides the digit.
var digitNames = strings.Fields("zero one two three four five six seven eight nine")

// load loads fsdd as mixed streams, with a label per frame of a filter bank.
func (o digitsOptions) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	files, err := fsddFiles(src.Dir)
	if err != nil {
		return nil, err
	}
	clips, notes, err := clipFormat{rate: fsddRate, maxLen: math.MaxInt}.decode(ctx, src, files)
	if err != nil {
		return nil, err
	}
	sounds := map[split]*recordings.Sounds{}
	for part := range splits(&dataset.Dataset{}) {
		sounds[part] = &recordings.Sounds{SampleRate: fsddRate, Labels: fsddLabels(), Words: clips[part]}
	}
	if src.includes(trainSplit) || src.includes(valSplit) {
		names := func(label string) []string { return []string{label, digitNames[label[0]-'0']} }
		opt := recordings.Options{SampleRate: fsddRate, Workers: src.Workers}
		if _, err := o.addFolders(ctx, sounds[trainSplit], sounds[valSplit], names, opt); err != nil {
			return nil, err
		}
	}
	d, err := o.mix(src, *sounds[trainSplit], *sounds[valSplit], *sounds[testSplit])
	if err == nil {
		d.Notes = append(d.Notes, few(notes, moreNotes)...)
	}
	return d, err
}
