package calibration

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// noiseSeconds is the length of the piece of background that is the noise of a stream of words: the
// first one that is not silent. The piece is repeated.
const noiseSeconds = 60

// addNoise adds noise of a level (root mean square) to the samples of a stream of words.
func (o *WordOptions) addNoise(x []float32, stream int, level float64) error {
	switch {
	case level == 0:
		return nil
	case len(o.Noise) == 0:
		white := random.New(o.Seed, random.Noise, 1, stream)
		for i := range x {
			x[i] += float32(level * white.Normal(uint64(i)))
		}
		return nil
	}
	bed := make([]float32, noiseSeconds*int(o.SampleRate))
	for i := range o.Noise {
		piece, power, err := firstSound(&o.Noise[(stream+i)%len(o.Noise)], bed)
		if err != nil {
			return err
		}
		if len(piece) == 0 {
			continue
		}
		gain := float32(level / math.Sqrt(power))
		for i := range x {
			x[i] += gain * piece[i%len(piece)]
		}
		return nil
	}
	return fmt.Errorf("%s: %w", o.Noise[stream%len(o.Noise)].Name, ErrSilence)
}

// ErrSilence is the error of WordStreams and Measure if all background that should be noise is
// silent.
var ErrSilence = errors.New("silence, expected noise")

// silence is the largest mean power of background that counts as silent: the square of the
// amplitude up to which package events takes samples for 0.
const silence = 1e-36

// firstSound reads pieces of a stream into buf until one is not silent, and returns it with its
// mean power. The result is empty if all are.
func firstSound(s *Stream, buf []float32) (piece []float32, power float64, err error) {
	in, err := s.Open()
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	for err == nil {
		n := 0
		for n < len(buf) && err == nil {
			var k int
			k, err = in.Read(buf[n:])
			n += k
		}
		power = 0
		for _, v := range buf[:n] {
			power += float64(v) * float64(v) / float64(n)
		}
		if power > silence && (err == nil || err == io.EOF) {
			return buf[:n], power, nil
		}
	}
	if err != io.EOF {
		return nil, 0, err
	}
	return nil, 0, nil
}
