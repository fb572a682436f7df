package datafile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ClipList reads a list of recordings as in Google's Speech Commands: lines of the form
// WORD/clip.wav. Empty lines are ignored.
func ClipList(path string) ([]string, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	clips, err := parseList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return clips, nil
}

func parseList(r io.Reader) ([]string, error) {
	var clips []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if word, name, _ := strings.Cut(line, "/"); word == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("line %d: %q, expected word/clip.wav", n, line)
		}
		clips = append(clips, line)
	}
	return clips, lines.Err()
}
