package datafile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Bounds of a list.
const (
	maxClips    = 1 << 20
	maxClipLine = 16 << 10 // bytes
)

// ClipList reads a list of recordings as in Google's Speech Commands: lines of the form
// WORD/clip.wav, at most 2²⁰ of them, of at most 16 KiB each. Empty lines are ignored.
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
	lines, n := bufio.NewScanner(r), 1
	lines.Buffer(nil, maxClipLine)
	for ; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if word, name, _ := strings.Cut(line, "/"); word == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("line %d: %.200q, expected word/clip.wav", n, line)
		}
		if len(clips) == maxClips {
			return nil, fmt.Errorf("line %d: more than %d clips", n, maxClips)
		}
		clips = append(clips, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return clips, nil
}
