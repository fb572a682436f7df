package calibration

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// Clips returns the clips at a path whose labels are among those of a model. unknown lists the
// other labels of clips. ignored lists the files in a folder that are not clips, each with the
// reason: those that are not recordings (audio.IsRecording) and, without a pattern, those that are
// not in the folder of a label.
//
// The path is a folder with one folder of audio files per label, or a text file with one clip per
// line: its path relative to the text file, or if that is a pipe to the working directory,
// optionally followed by a tab and its label. Blank lines and lines that begin with # are skipped.
//
// The pattern finds the label in the path of a file relative to the folder, with slashes: its first
// group is the label. Files that it does not match, or whose first group is empty, are left out.
// Nil: the label is the first folder in that path.
func Clips(path string, labels []string, pattern *regexp.Regexp) (clips []Clip, unknown, ignored []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("calibration: %w", err)
	}
	var all []Clip
	if info.IsDir() {
		all, ignored, err = folderClips(path, pattern)
	} else {
		all, err = listedClips(path, pattern)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	for _, c := range all {
		if c.Label != events.None && slices.Contains(labels, c.Label) {
			clips = append(clips, c)
		} else if !slices.Contains(unknown, c.Label) {
			unknown = append(unknown, c.Label)
		}
	}
	if len(clips) == 0 {
		return nil, unknown, ignored, fmt.Errorf("calibration: %s has no clip with a label of the model (%s)", path, strings.Join(labels, ", "))
	}
	return clips, unknown, ignored, nil
}

// folderClips returns the clips of a folder, and why other files are ignored.
func folderClips(dir string, pattern *regexp.Regexp) (clips []Clip, ignored []string, err error) {
	files, others, err := audioFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, nil, fmt.Errorf("calibration: %w", err)
		}
		switch label, ok := labelOf(filepath.ToSlash(name), pattern); {
		case ok:
			clips = append(clips, Clip{path, label})
		case pattern == nil:
			ignored = append(ignored, path+": not in the folder of a label")
		}
	}
	return clips, append(ignored, others...), nil
}

// labelOf returns the label in a file's name, with slashes.
func labelOf(name string, pattern *regexp.Regexp) (label string, ok bool) {
	if pattern == nil {
		dir, _, ok := strings.Cut(name, "/")
		return dir, ok
	}
	groups := pattern.FindStringSubmatch(name)
	if len(groups) < 2 {
		return "", false
	}
	return groups[1], groups[1] != ""
}

// listedClips returns the clips that a text file lists.
func listedClips(path string, pattern *regexp.Regexp) ([]Clip, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	defer f.Close()
	clips, err := readList(f, pattern)
	if err != nil {
		return nil, fmt.Errorf("calibration: %s: %w", path, err)
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return clips, nil // a pipe has no folder
	}
	for i, c := range clips {
		if !filepath.IsAbs(c.Path) {
			clips[i].Path = filepath.Join(filepath.Dir(path), c.Path)
		}
	}
	return clips, nil
}

// maxListLine bounds a line of a list of clips in bytes.
const maxListLine = 1 << 14

func readList(r io.Reader, pattern *regexp.Regexp) ([]Clip, error) {
	var clips []Clip
	err := datafile.EachLine(r, maxListLine, func(line string) error {
		line = strings.TrimRight(line, "\r\n ")
		if line == "" || line[0] == '#' {
			return nil
		}
		name, label, given := strings.Cut(line, "\t")
		if !given {
			var ok bool
			if label, ok = labelOf(strings.TrimPrefix(filepath.ToSlash(name), "./"), pattern); !ok && pattern != nil {
				return nil
			} else if !ok {
				return fmt.Errorf("%q, expected LABEL/FILE, or a path, a tab and a label", line)
			}
		}
		if name == "" || label == "" || strings.ContainsAny(label, "\t\x00") || strings.Contains(name, "\x00") {
			return fmt.Errorf("%q, expected a path, a tab and a label", line)
		}
		clips = append(clips, Clip{filepath.FromSlash(name), label})
		return nil
	})
	return clips, err
}
