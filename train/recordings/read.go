package recordings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/s4d-fast/s4d-fast/internal/par"
)

const (
	maxWordSeconds = 60 // of a recording in the folder of a class

	// maxPeak bounds samples: full scale is 1, decoders of MP3 and Ogg Vorbis exceed it by little,
	// and samples of floats in another unit by much.
	maxPeak = 8
)

// reader reads recordings of one data set.
type reader struct {
	opt    Options
	budget atomic.Int64 // bytes of samples that may still be kept
}

// errBudget ends the reading of all recordings.
var errBudget = errors.New("too many samples")

// readRecordings reads all files. The clip of a broken one is empty. Broken files are an error
// unless opt.SkipBroken is set.
func readRecordings(ctx context.Context, files []recording, opt Options) (clips []Clip, broken []error, err error) {
	r := &reader{opt: opt}
	limit := cmp.Or(opt.MaxBytes, MaxSoundBytes)
	r.budget.Store(limit)
	clips, broken = make([]Clip, len(files)), make([]error, len(files))
	var mutex sync.Mutex
	if note := opt.Audio.Note; note != nil {
		r.opt.Audio.Note = func(text string) {
			mutex.Lock()
			defer mutex.Unlock()
			note(text)
		}
	}
	done := 0
	err = par.Each(ctx, opt.Workers, len(files), func(ctx context.Context, i int) error {
		c, err := r.read(ctx, files[i])
		switch {
		case errors.Is(err, errBudget):
			return fmt.Errorf("the recordings take more than %d MiB, the limit, as 16-bit samples at %d Hz; use less background or a lower sampling rate", limit>>20, opt.rate())
		case err != nil:
			broken[i] = err
			r.budget.Add(2 * int64(c.Len()))
		default:
			clips[i] = c
		}
		if opt.Progress != nil {
			mutex.Lock()
			defer mutex.Unlock()
			done++
			opt.Progress(done, len(files))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	broken = slices.DeleteFunc(broken, func(err error) bool { return err == nil })
	if len(broken) > 0 && !opt.SkipBroken {
		return nil, nil, &BrokenError{Broken: broken, Files: len(files)}
	}
	return clips, broken, nil
}

// read reads one recording as one channel at the rate of the options. If there is an error, the
// clip has the samples that were read before it.
func (r *reader) read(ctx context.Context, f recording) (Clip, error) {
	in, err := r.opt.Audio.OpenFile(f.path)
	if err != nil {
		return Clip{}, err
	}
	defer in.Close()
	rate := r.opt.rate()
	src, err := in.MonoAt(rate)
	if err != nil {
		return Clip{}, fmt.Errorf("%s: %w", f.path, err)
	}
	c := Clip{Path: f.path}
	block, silent := make([]float32, 1<<13), true
	for {
		n, err := src.Read(block)
		if r.budget.Add(-2*int64(n)) < 0 {
			return c, errBudget
		}
		for i, v := range block[:n] {
			if v > maxPeak || v < -maxPeak {
				return c, fmt.Errorf("%s: sample %d at %d Hz is %v, expected full scale to be 1", f.path, len(c.Int16)+i, rate, v)
			}
			silent = silent && v == 0
		}
		c.Int16 = appendInt16(c.Int16, block[:n])
		switch {
		case ctx.Err() != nil:
			return c, ctx.Err()
		case f.role == word && len(c.Int16) > maxWordSeconds*rate:
			return c, fmt.Errorf("%s: longer than %d seconds, expected a recording of one word", f.path, maxWordSeconds)
		case err == io.EOF && len(c.Int16) == 0:
			return c, fmt.Errorf("%s: there are no samples", f.path)
		case err == io.EOF && silent && f.role != background && in.Format.Channels > 1 && r.opt.Audio.Channel == nil:
			return c, fmt.Errorf("%s: all samples are zero in the mean of %d channels; --channel N reads one", f.path, in.Format.Channels)
		case err == io.EOF && silent && f.role != background:
			return c, fmt.Errorf("%s: all samples are zero", f.path)
		case err == io.EOF:
			c.Int16 = slices.Clone(c.Int16)
			return c, nil
		case err != nil:
			return c, fmt.Errorf("%s: %w", f.path, err)
		}
	}
}

// BrokenError lists recordings that cannot be used.
type BrokenError struct {
	Broken []error // one per recording, with its path
	Files  int     // number of all recordings
}

// maxListed is how many recordings the text of a BrokenError names.
const maxListed = 10

func (e *BrokenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d recordings are broken:", len(e.Broken), e.Files)
	for _, err := range e.Broken[:min(len(e.Broken), maxListed)] {
		fmt.Fprintf(&b, "\n  %v", err)
	}
	if n := len(e.Broken) - maxListed; n > 0 {
		fmt.Fprintf(&b, "\n  and %d more", n)
	}
	return b.String()
}

// Unwrap returns the errors of the recordings.
func (e *BrokenError) Unwrap() []error { return e.Broken }
