package calibration

import (
	"context"
	"fmt"
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
// onset of the word, and its level is the one that SNR refers to. A stream reads its clips again.
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
		last := max(gap(number*(clipsPerStream+1)+len(part)), int(opt.SampleRate/2)) // the last event ends in it
		s.Open = func() (Audio, error) { return opt.open(number, list, last, math.Sqrt(power)*math.Pow(10, -opt.SNR/20)) }
		streams = append(streams, s)
	}
	return streams, skipped, nil
}

// open reads the clips of a stream again, with silence before each and after the last, and noise of
// a level.
func (o WordOptions) open(stream int, clips []placed, last int, level float64) (Audio, error) {
	o.Audio.Note = nil // the survey has noted how they are read
	var x []float32
	for _, p := range clips {
		clip, err := readClip(p.path, o.SampleRate, o.Audio)
		if err == nil && len(clip) != p.len {
			err = fmt.Errorf("%s: %d samples, but %d before: the file has changed", p.path, len(clip), p.len)
		}
		if err != nil {
			return nil, err
		}
		x = append(append(x, make([]float32, p.gap)...), clip...)
	}
	x = append(x, make([]float32, last)...)
	return &Memory{x}, o.addNoise(x, stream, level)
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
