package calibration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// Audio is the sound of a stream: one channel at the model's sampling rate, full scale ±1.
type Audio interface {
	audio.Source
	io.Closer
}

// file is an open audio file that is read as one channel at a given sampling rate.
type file struct {
	audio.Source
	io.Closer
}

// open opens a file for reading at a rate in Hz.
func open(path string, rate float64) (*file, error) {
	f, err := datafile.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := audio.Open(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := &file{audio.Mono(r), f}
	if from := r.Format.SampleRate; float64(from) != rate {
		if out.Source, err = audio.NewResampleReader(out.Source, from, int(rate)); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return out, nil
}

// checkRate returns an error for a rate to which no audio can be converted.
func checkRate(rate float64) error {
	if !(rate >= 1) || rate != math.Trunc(rate) {
		return fmt.Errorf("calibration: sampling rate %v Hz, expected a whole number", rate)
	}
	return nil
}

// extensions are those of the audio formats that package audio reads.
var extensions = []string{".wav", ".wave", ".flac", ".mp3", ".ogg", ".oga"}

func isAudio(name string) bool {
	return name[0] != '.' && slices.Contains(extensions, strings.ToLower(filepath.Ext(name)))
}

// audioFiles returns the audio files of a folder at any depth, in alphabetical order, without
// hidden files and folders. If path is a file, it returns the path.
func audioFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != path && d.Name()[0] == '.':
			return fs.SkipDir
		case !d.IsDir() && isAudio(d.Name()):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("calibration: %s has no audio files (%s)", path, strings.Join(extensions, ", "))
	}
	return files, nil
}

// tape is the concatenation of audio files.
type tape struct {
	files   []string
	rate    float64
	skip    bool // broken files
	current *file
	next    int
	skipped []error
}

// Read implements audio.Source. The samples of a broken file before its error are part of the tape.
func (t *tape) Read(dst []float32) (int, error) {
	for {
		if t.current == nil {
			if t.next == len(t.files) {
				return 0, io.EOF
			}
			f, err := open(t.files[t.next], t.rate)
			t.next++
			if err != nil {
				if err = t.broken(err); err != nil {
					return 0, err
				}
				continue
			}
			t.current = f
		}
		n, err := t.current.Read(dst)
		if err != nil {
			t.current.Close()
			t.current = nil
			if err == io.EOF {
				err = nil
			} else {
				err = t.broken(fmt.Errorf("%s: %w", t.files[t.next-1], err))
			}
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// broken records the error of a file, or returns it.
func (t *tape) broken(err error) error {
	if !t.skip {
		return err
	}
	t.skipped = append(t.skipped, err)
	return nil
}

// Close implements io.Closer.
func (t *tape) Close() error {
	if t.current == nil {
		return nil
	}
	return t.current.Close()
}

// Skipped returns the errors of the files that were skipped.
func (t *tape) Skipped() []error { return t.skipped }

// tapeBytes is the size of the files that form a stream: files are added until the stream is at
// least that large. It does not depend on the number of workers, so the results do not either.
const tapeBytes = 4 << 20

// Background returns streams of the audio file at a path, or of all audio files in a folder at any
// depth, in alphabetical order. Short files are joined without gaps, about 4 MB to a stream. The
// files are read while the streams are, in constant memory.
//
// The audio is mixed down to one channel and converted to the given sampling rate in Hz. If a file
// cannot be read, Measure returns an error. With skipBroken, the file is left out from that place
// on, and Measurement.Skipped reports it.
func Background(path string, rate float64, skipBroken bool) ([]Stream, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	files, err := audioFiles(path)
	if err != nil {
		return nil, err
	}
	var streams []Stream
	for len(files) > 0 {
		n, size := 0, int64(0)
		for n < len(files) && size < tapeBytes {
			info, err := os.Stat(files[n])
			if err != nil && !skipBroken {
				return nil, fmt.Errorf("calibration: %w", err)
			}
			if err == nil {
				size += info.Size()
			}
			n++
		}
		part := files[:n:n]
		streams = append(streams, Stream{
			Name: part[0], Group: path,
			Open: func() (Audio, error) { return &tape{files: part, rate: rate, skip: skipBroken}, nil },
		})
		files = files[n:]
	}
	return streams, nil
}

var errNoAudio = errors.New("it has no samples")
