package calibration

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/activity"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Clip is a recording of one word.
type Clip struct{ Path, Label string }

// WordOptions are the options of WordStreams. Start from DefaultWords.
type WordOptions struct {
	SampleRate     float64  // of the model in Hz
	MinGap, MaxGap float64  // seconds between clips, uniformly distributed
	SNR            float64  // dB: mean power of all words over that of the noise; +Inf: no noise
	Noise          []Stream // background to use as noise, which must not all be silent; none: white noise
	Seed           uint64   // of the order, the gaps and white noise
	SkipBroken     bool     // leave out files that cannot be read, which are otherwise an error
	Workers        int      // number of files read at the same time; 0: one per processor

	// Audio selects what of a recording is read. Several goroutines call its Note, with the path in
	// front.
	Audio audio.Options
}

// DefaultWords returns the options for a sampling rate in Hz: gaps of 0.3 to 1.5 s, levels as
// recorded, white noise at 20 dB.
func DefaultWords(sampleRate float64) WordOptions {
	return WordOptions{SampleRate: sampleRate, MinGap: 0.3, MaxGap: 1.5, SNR: 20, Seed: 1}
}

const (
	clipsPerStream = 50
	maxClip        = 60 // seconds
)

// placed is a clip at its place in a stream.
type placed struct {
	path string
	gap  int // samples of silence before it
	len  int // samples
}

// WordStreams returns streams of the clips in random order, 50 to a stream. It first reads every
// clip to find the word, which is the part with the most energy. The onset of that part is the
// onset of the word, and its level is the one that SNR refers to. The streams read the
// clips again, one at a time.
//
// The streams are a function of the clips and the options. skipped has the errors of the files that
// were left out. If no file can be read, that is an error.
func WordStreams(ctx context.Context, clips []Clip, opt WordOptions) (streams []Stream, skipped []error, err error) {
	found, skipped, err := survey(ctx, clips, &opt)
	if err != nil {
		return nil, nil, err
	}
	draw := random.New(opt.Seed, random.Noise, 0, 0)
	gap := func(i int) int {
		return int((opt.MinGap + (opt.MaxGap-opt.MinGap)*draw.Float64(uint64(i))) * opt.SampleRate)
	}
	power := 0.0
	order := random.New(opt.Seed, random.Shuffle, 0, 0).Perm(len(found))
	for part := range slices.Chunk(order, clipsPerStream) {
		number := len(streams)
		s, at := Stream{Name: fmt.Sprintf("words %d", number+1)}, 0
		var list []placed
		for i, k := range part {
			c := &found[k]
			power += math.Pow(c.word.Level, 2) / float64(len(found))
			p := placed{path: c.Path, gap: gap(number*(clipsPerStream+1) + i), len: c.len}
			at += p.gap
			s.Words = append(s.Words, Word{Onset: int64(at + c.word.Onset), End: int64(at + c.word.End), Label: c.Label, File: c.Path})
			at += c.len
			list, s.Files = append(list, p), append(s.Files, c.Path)
		}
		again := opt.Audio
		again.Note = nil
		last := max(gap(number*(clipsPerStream+1)+len(part)), int(opt.SampleRate/2)) // the last event ends in it
		s.Open = func() (Audio, error) {
			level := math.Sqrt(power) * math.Pow(10, -opt.SNR/20)
			noise, err := opt.noise(number, level)
			return &words{clips: list, last: last, rate: opt.SampleRate, opt: again, noise: noise}, err
		}
		streams = append(streams, s)
	}
	return streams, skipped, nil
}

// surveyed is a clip with its length and the place of its word.
type surveyed struct {
	Clip
	len  int
	word activity.Region
	err  error
}

// survey reads all clips and finds their words.
func survey(ctx context.Context, clips []Clip, opt *WordOptions) (good []surveyed, skipped []error, err error) {
	all := make([]surveyed, len(clips))
	err = par.Each(ctx, opt.Workers, len(clips), func(_ context.Context, i int) error {
		x, err := readClip(clips[i].Path, opt.SampleRate, opt.Audio)
		all[i] = surveyed{Clip: clips[i], len: len(x), err: err}
		switch {
		case err == nil:
			all[i].word = activity.Word(x, opt.SampleRate)
		case !opt.SkipBroken:
			return fmt.Errorf("calibration: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		if c.err == nil {
			good = append(good, c)
		} else {
			skipped = append(skipped, c.err)
		}
	}
	if len(good) == 0 {
		return nil, skipped, fmt.Errorf("calibration: none of %d clips of words can be read", len(clips))
	}
	return good, skipped, nil
}

// readClip reads all samples of a file at a rate in Hz.
func readClip(path string, rate float64, opt audio.Options) ([]float32, error) {
	x, err := opt.ReadMono(path, int(rate))
	switch {
	case err != nil:
		return nil, err
	case len(x) == 0:
		return nil, fmt.Errorf("%s: it has no samples", path)
	case len(x) > maxClip*int(rate):
		return nil, fmt.Errorf("%s: longer than %d s, expected a clip of one word", path, maxClip)
	}
	return x, nil
}

// words is the audio of a stream of words.
type words struct {
	clips   []placed
	last    int // samples of silence after the clips
	rate    float64
	opt     audio.Options
	noise   func(x []float32, at int) // adds the noise from sample at on
	at      int
	silence int
	clip    []float32
	ended   bool
}

// Read implements audio.Source.
func (w *words) Read(dst []float32) (n int, err error) {
	for n < len(dst) && err == nil {
		switch rest := dst[n:]; {
		case w.silence > 0:
			k := min(w.silence, len(rest))
			clear(rest[:k])
			w.silence -= k
			n += k
		case len(w.clip) > 0:
			k := copy(rest, w.clip)
			w.clip = w.clip[k:]
			n += k
		case len(w.clips) > 0:
			err = w.load()
		case !w.ended:
			w.silence, w.ended = w.last, true
		default:
			err = io.EOF
		}
	}
	w.noise(dst[:n], w.at)
	w.at += n
	return n, err
}

// load reads the next clip.
func (w *words) load() error {
	p := w.clips[0]
	w.clips = w.clips[1:]
	x, err := readClip(p.path, w.rate, w.opt)
	if err != nil {
		return err
	}
	if len(x) != p.len {
		return fmt.Errorf("%s: %d samples, but %d before: the file has changed", p.path, len(x), p.len)
	}
	w.silence, w.clip = p.gap, x
	return nil
}

// Close implements io.Closer.
func (w *words) Close() error { return nil }
