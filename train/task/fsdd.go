package task

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
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
	entries, err := fsddEntries(src.Dir)
	if err != nil {
		return nil, err
	}
	return clipFormat{rate: fsddRate, maxLen: 8000, options: o.clipOptions}.load(ctx, src, fsddLabels(), entries)
}

func fsddLabels() []string { return strings.Split("0123456789", "") }

// fsddEntries lists the recordings in a folder, or in its subfolder recordings.
func fsddEntries(dir string) ([]entry, error) {
	dir, err := folderIn(dir, "recordings")
	if err != nil {
		return nil, err
	}
	files, err := datafile.List(dir)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, name := range fileNames(files, func(name string) bool { return strings.HasSuffix(name, ".wav") }) {
		e, err := parseFSDD(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		e.path = filepath.Join(dir, name)
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, datafile.NoData("%s contains no .wav files", dir)
	}
	return entries, nil
}

// parseFSDD parses a file name {digit}_{speaker}_{index}.wav.
func parseFSDD(name string) (entry, error) {
	digit, rest, _ := strings.Cut(strings.TrimSuffix(name, ".wav"), "_")
	last := strings.LastIndexByte(rest, '_')
	if len(digit) != 1 || digit[0] < '0' || digit[0] > '9' || last < 1 {
		return entry{}, fmt.Errorf("file name %q, expected {digit}_{speaker}_{index}.wav", name)
	}
	index, err := strconv.ParseUint(rest[last+1:], 10, 31)
	if err != nil {
		return entry{}, fmt.Errorf("file name %q, expected {digit}_{speaker}_{index}.wav with a number as index", name)
	}
	e := entry{label: int(digit[0] - '0'), split: trainSplit}
	if index < 5 {
		e.split = testSplit
	} else if index < 10 {
		e.split = valSplit
	}
	return e, nil
}

// fileNames returns the names of the files of a kind that are not hidden.
func fileNames(files []fs.DirEntry, kind func(name string) bool) []string {
	var names []string
	for _, f := range files {
		if name := f.Name(); kind(name) && name[0] != '.' && !f.IsDir() {
			names = append(names, name)
		}
	}
	return names
}
