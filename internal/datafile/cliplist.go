package datafile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxClipLine bounds a line of a list in bytes.
const maxClipLine = 16 << 10

// ClipList reads a list of recordings as in Google's Speech Commands: lines of the form
// WORD/clip.wav, of at most 16 KiB each. Empty lines are ignored. It returns the numbers of the
// clips in index, or nil if there is no list. Clips of other words than the given ones, as of a
// larger data set, are left out.
func ClipList(path string, words []string, index map[string]int) ([]int, error) {
	var names []string
	err := Parse(path, func(r io.Reader) (err error) {
		names, err = parseList(r)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	clips := []int{}
	for _, name := range names {
		i, ok := index[name]
		if word, _, _ := strings.Cut(name, "/"); ok {
			clips = append(clips, i)
		} else if slices.Contains(words, word) {
			return nil, fmt.Errorf("%s lists %s, which is missing", path, name)
		}
	}
	return clips, err
}

func parseList(r io.Reader) ([]string, error) {
	var clips []string
	err := EachLine(r, maxClipLine, func(line string) error {
		if line = strings.TrimSpace(line); line == "" {
			return nil
		}
		if word, name, _ := strings.Cut(line, "/"); word == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%.200q, expected word/clip.wav", line)
		}
		clips = append(clips, line)
		return nil
	})
	return clips, err
}
