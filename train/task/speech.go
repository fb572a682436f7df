package task

import (
	"context"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

const speechRate = 16000 // Hz

func init() {
	register(Task{
		name:   "speech-commands",
		source: speechSource, sampleRate: speechRate, options: func() options { return &speechOptions{} },
	})
}

// speechOptions are the options of the task speech-commands.
type speechOptions struct{ clipOptions }

const speechSource = "Speech Commands is published at download.tensorflow.org/data/speech_commands_v0.02.tar.gz: " +
	"pass the unpacked folder, with WORD/*.wav, validation_list.txt and testing_list.txt"

// sc35 is the official order of the 35 words (docs/maths.md §5.5).
var sc35 = strings.Fields(`bed cat down five forward go house left marvin no on right sheila tree up visual yes
	backward bird dog eight follow four happy learn nine off one seven six stop three two wow zero`)

// load loads 16 kHz clips in the layout of Google's Speech Commands: one folder per word. The files
// validation_list.txt and testing_list.txt list clips as word/clip.wav, one per line. All other
// clips are the training set; without a validation list, recordings.Folder says which are not.
// Folders whose name begins with an underscore (_background_noise_) or a dot are ignored. The 35
// words of version 0.02 have their official order, other sets of words the alphabetical one.
// Examples are in the order of word and file name.
//
// Clips are truncated or zero-padded to one second. Mean and Std are over all samples of the
// training set, which also suits a stream. The official trainer normalises each time index on its
// own, and scales the audio by 2⁻¹⁵ once more, which leaves a tenth to a quarter of unit variance
// (docs/maths.md §5.5). The paper does not state a normalisation.
func (o speechOptions) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	list, err := recordings.List(src.Dir, recordings.Options{})
	if err != nil {
		return nil, err
	}
	labels := list.Labels
	if slices.Equal(labels, slices.Sorted(slices.Values(sc35))) {
		labels = sc35
		for i := range list.Files {
			f := &list.Files[i]
			f.Label = slices.Index(sc35, list.Labels[f.Label])
		}
		slices.SortStableFunc(list.Files, func(a, b recordings.File) int { return a.Label - b.Label })
	}
	d, err := clipFormat{rate: speechRate, maxLen: 16000, pad: true, options: o.clipOptions}.load(ctx, src, labels, list.Files)
	if err == nil {
		d.Notes = append(list.Notes, d.Notes...)
	}
	return d, err
}
