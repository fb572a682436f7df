// Package corpus makes sounds to train and test word detectors: words and sentences spoken by the
// program espeak-ng, and computed noises.
//
// Voices and kinds of noise are divided into two splits, Train and Test, which have nothing in
// common. With the same version of espeak-ng the files are the same every time. Existing files are
// kept, so a second call of a function resumes an interrupted one.
package corpus

import (
	"hash/fnv"
	"io"
	"os"
	"path/filepath"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// The splits of voices and kinds of noise.
const (
	Train = "train"
	Test  = "test"
)

// rate is the sampling rate of all sounds in Hz.
const rate = 16000

// Options are what words, sentences and noises have in common.
type Options struct {
	Out   string // folder
	Split string // Train or Test
	Piper string // folder with voices of piper for Words; "": none
}

// draws returns the random numbers of a file. Those of each split and name are different ones.
func (o Options) draws(name string, file int) *synth.Synth {
	seed := fnv.New64a()
	io.WriteString(seed, o.Split+"/"+name)
	return &synth.Synth{Sampler: random.Sampler{Stream: random.New(seed.Sum64(), random.Signal, file, 0)}, Rate: rate}
}

// write writes the result of sound to a WAV file, unless the file exists.
func (o Options) write(sound func() ([]float32, error), elements ...string) error {
	path := filepath.Join(append([]string{o.Out}, elements...)...)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	x, err := sound()
	if err != nil {
		return err
	}
	if err := atomicfile.System().MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return audio.WriteWAVFile(path, rate, x)
}
