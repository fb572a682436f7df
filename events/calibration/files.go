package calibration

import (
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// Audio is the sound of a stream: one channel at the model's sampling rate, full scale ±1.
type Audio interface {
	audio.Source
	io.Closer
}

// Memory is Audio in memory.
type Memory struct{ Rest []float32 }

// Read implements audio.Source.
func (m *Memory) Read(dst []float32) (int, error) {
	n := copy(dst, m.Rest)
	if m.Rest = m.Rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (m *Memory) Close() error { return nil }

// audioFiles returns the recordings of a folder at any depth, in alphabetical order, and why its
// other files are ignored. If path is a file, it returns the path.
func audioFiles(path string) (files, ignored []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("calibration: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil, nil
	}
	err = datafile.Walk(path, func(name string) {
		if why := audio.WhyIgnored(name); why != "" {
			ignored = append(ignored, name+": "+why)
		} else {
			files = append(files, name)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("calibration: %w", err)
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("calibration: %s contains no recordings", path)
	}
	return files, ignored, nil
}

// tape is the concatenation of audio files.
type tape struct {
	files   []string
	rate    float64
	skip    bool // broken files
	opt     audio.Options
	current *audio.Reader // nil: between files
	source  audio.Source  // of the current file
	next    int
	read    int64 // samples
	begun   []fileStart
	skipped []error
}

// fileStart is the position in a tape at which a file begins.
type fileStart struct {
	path string
	at   int64
}

// Read implements audio.Source. The samples of a broken file before its error are part of the tape.
func (t *tape) Read(dst []float32) (int, error) {
	for {
		if t.current == nil {
			if t.next == len(t.files) {
				return 0, io.EOF
			}
			path := t.files[t.next]
			t.next++
			if err := t.open(path); err != nil {
				if err = t.broken(err); err != nil {
					return 0, err
				}
				continue
			}
			t.begun = append(t.begun, fileStart{path, t.read})
		}
		n, err := t.source.Read(dst)
		t.read += int64(n)
		if err != nil {
			t.Close()
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

func (t *tape) open(path string) (err error) {
	r, err := t.opt.OpenFile(path)
	if err != nil {
		return err
	}
	if t.source, err = r.MonoAt(int(t.rate)); err != nil {
		r.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	t.current = r
	return nil
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

// locate returns the file that a sample of the tape is from, and the position of the file's first
// sample.
func (t *tape) locate(sample int64) (path string, start int64) {
	for _, f := range t.begun {
		if f.at > sample {
			break
		}
		path, start = f.path, f.at
	}
	return path, start
}

// tapeBytes is the size of the files that form a stream: files are added until the stream is at
// least that large. It does not depend on the number of workers, so the results do not either.
const tapeBytes = 4 << 20

// BackgroundStreams returns streams of the audio file at a path, or of all recordings in a folder
// at any depth, in alphabetical order (audio.IsRecording). Short files are joined without gaps into
// streams of about 4 MB. Files are read while their stream is processed, so memory does not depend
// on their length. ignored lists the other files in the folder, each with the reason.
//
// The audio is converted to the given sampling rate in Hz. opt selects what of a recording is read.
// Several goroutines call its Note, with the path in front. If a file cannot be read, Measure
// returns an error. With skipBroken, the file is left out from that place on, and
// Measurement.Skipped reports it.
func BackgroundStreams(path string, rate float64, skipBroken bool, opt audio.Options) (streams []Stream, ignored []string, err error) {
	files, ignored, err := audioFiles(path)
	if err != nil {
		return nil, nil, err
	}
	for len(files) > 0 {
		n, size := 0, int64(0)
		for n < len(files) && size < tapeBytes {
			info, err := os.Stat(files[n])
			if err != nil && !skipBroken {
				return nil, nil, fmt.Errorf("calibration: %w", err)
			}
			if err == nil {
				size += info.Size()
			}
			n++
		}
		part := files[:n:n]
		streams = append(streams, Stream{
			Name: part[0], Background: path, Files: part,
			Open: func() (Audio, error) { return &tape{files: part, rate: rate, skip: skipBroken, opt: opt}, nil },
		})
		files = files[n:]
	}
	return streams, ignored, nil
}
