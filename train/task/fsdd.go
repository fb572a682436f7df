package task

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

const fsddRate = 8000 // Hz

func init() {
	register(Task{
		name:   "fsdd",
		source: fsddSource, sampleRate: fsddRate, options: func() options { return &fsddOptions{} },
	})
}

// fsddOptions are the options of the task fsdd.
type fsddOptions struct{ clipOptions }

const fsddSource = "the Free Spoken Digit Dataset is published at github.com/Jakobovski/free-spoken-digit-dataset: " +
	"pass the folder that contains recordings/{digit}_{speaker}_{index}.wav"

// load loads the Free Spoken Digit Dataset: 8 kHz clips {digit}_{speaker}_{index}.wav, in the
// folder or in its subfolder recordings. For every speaker and digit, indices 0–4 are the test set,
// as published, indices 5–9 the validation set, the others the training set. Examples are in the
// order of their file names. Training clips longer than MaxLen are truncated. Validation and test
// clips are whole, as in a stream.
func (o fsddOptions) load(ctx context.Context, src Source) (*dataset.Dataset, error) {
	files, err := fsddFiles(src.Dir)
	if err != nil {
		return nil, err
	}
	return clipFormat{rate: fsddRate, maxLen: 8000, options: o.clipOptions}.load(ctx, src, fsddLabels(), files)
}

func fsddLabels() []string { return strings.Split("0123456789", "") }

// fsddFiles lists the recordings in a folder, or in its subfolder recordings.
func fsddFiles(dir string) (list []recordings.File, err error) {
	if dir, err = folderIn(dir, "recordings"); err != nil {
		return nil, err
	}
	files, err := datafile.List(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".wav") || name[0] == '.' {
			continue
		}
		e, err := parseFSDD(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		e.Path = filepath.Join(dir, name)
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, datafile.NoData("%s contains no .wav files", dir)
	}
	return list, nil
}

// parseFSDD parses a file name {digit}_{speaker}_{index}.wav.
func parseFSDD(name string) (e recordings.File, err error) {
	digit, rest, _ := strings.Cut(strings.TrimSuffix(name, ".wav"), "_")
	last := strings.LastIndexByte(rest, '_')
	if len(digit) != 1 || digit[0] < '0' || digit[0] > '9' || last < 1 {
		return e, fmt.Errorf("file name %q, expected {digit}_{speaker}_{index}.wav", name)
	}
	index, err := strconv.ParseUint(rest[last+1:], 10, 31)
	if err != nil {
		return e, fmt.Errorf("file name %q, expected {digit}_{speaker}_{index}.wav with a number as index", name)
	}
	e.Label, e.Split = int(digit[0]-'0'), "train"
	if index < 5 {
		e.Split = "test"
	} else if index < 10 {
		e.Split = "val"
	}
	return e, nil
}
