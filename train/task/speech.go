package task

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
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

// load loads 16 kHz clips in the layout of Google's Speech Commands: one folder per
// word. The files validation_list.txt and testing_list.txt list clips as word/clip.wav, one per
// line; either may be missing. All other clips are the training set. Folders whose name begins with
// an underscore (_background_noise_) or a dot are ignored. The 35 words of version 0.02 have their
// official order, other sets of words the alphabetical one. Examples are in the order of word and
// file name.
//
// Clips are truncated or zero-padded to one second. Mean and Std are over all samples of the
// training set, which also suits a stream. The official trainer normalises each time index on its
// own, and scales the audio by 2⁻¹⁵ once more, which leaves a tenth to a quarter of unit variance
// (docs/maths.md §5.5). The paper does not state a normalisation.
func (o speechOptions) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	words, err := speechWords(src.Dir)
	if err != nil {
		return nil, err
	}
	clips := map[string]int{} // word/clip.wav → index into entries
	var entries []entry
	for label, word := range words {
		dir := filepath.Join(src.Dir, word)
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		names := fileNames(files, func(name string) bool { return audio.IsRecording(filepath.Join(dir, name)) })
		if len(names) == 0 {
			return nil, fmt.Errorf("the folder %s of a word contains no recordings", dir)
		}
		for _, name := range names {
			clips[word+"/"+name] = len(entries)
			entries = append(entries, entry{path: filepath.Join(dir, name), label: label, split: trainSplit})
		}
	}
	for _, list := range []struct {
		name  string
		split split
	}{{"validation_list.txt", valSplit}, {"testing_list.txt", testSplit}} {
		listed, err := datafile.ClipList(filepath.Join(src.Dir, list.name), words, clips)
		if err != nil {
			return nil, err
		}
		for _, i := range listed {
			entries[i].split = list.split
		}
	}
	return clipFormat{rate: speechRate, maxLen: 16000, pad: true, options: o.clipOptions}.load(ctx, src, words, entries)
}

// speechWords returns the word folders in the order of their labels.
func speechWords(dir string) ([]string, error) {
	files, err := datafile.List(dir)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, f := range files {
		name := f.Name()
		if name[0] == '_' || name[0] == '.' {
			continue
		}
		isFolder, err := datafile.IsFolder(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if isFolder {
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return nil, datafile.NoData("data folder %s contains no folder of a word", dir)
	}
	if slices.Equal(words, slices.Sorted(slices.Values(sc35))) {
		return slices.Clone(sc35), nil
	}
	return words, nil
}
