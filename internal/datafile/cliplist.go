package datafile

import (
	"fmt"
	"io"
	"strings"
)

// maxClipLine bounds a line of a list in bytes.
const maxClipLine = 16 << 10

// ClipList reads a list of recordings as in Google's Speech Commands: lines of the form
// WORD/clip.wav, of at most 16 KiB each. Empty lines are ignored.
func ClipList(path string) (clips []string, err error) {
	err = Parse(path, func(r io.Reader) error {
		clips, err = parseList(r)
		return err
	})
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
