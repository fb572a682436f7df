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

// noise returns a function that adds noise of a level (root mean square) to a stream of words.
func (o *WordOptions) noise(stream int, level float64) (func(x []float32, at int), error) {
	if level == 0 {
		return func([]float32, int) {}, nil
	}
	if len(o.Noise) == 0 {
		white := random.New(o.Seed, random.Noise, 1, stream)
		return func(x []float32, at int) {
			for i := range x {
				x[i] += float32(level * white.Normal(uint64(at+i)))
			}
		}, nil
	}
	bed := make([]float32, noiseSeconds*int(o.SampleRate))
	for i := range o.Noise {
		piece, power, err := firstSound(&o.Noise[(stream+i)%len(o.Noise)], bed)
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 {
			continue
		}
		gain := float32(level / math.Sqrt(power))
		return func(x []float32, at int) {
			for i := range x {
				x[i] += gain * piece[(at+i)%len(piece)]
			}
		}, nil
	}
	return nil, fmt.Errorf("%s: %w", o.Noise[stream%len(o.Noise)].Name, ErrSilence)
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

// Generated returns generated background: the given number of minutes of noise, whose colour and
// level change, and as many minutes of notes. Both are a function of the seed.
func Generated(minutes, sampleRate float64, seed uint64) ([]Stream, error) {
	if err := checkRate(sampleRate); err != nil {
		return nil, err
	}
	if !(minutes > 0 && minutes <= MaxGenerated) {
		return nil, fmt.Errorf("calibration: %v minutes of generated background, expected more than 0 and at most %d", minutes, MaxGenerated)
	}
	var streams []Stream
	for _, kind := range []string{"noise", "notes"} {
		for part := 0; float64(part*partMinutes) < minutes; part++ {
			n := int(min(partMinutes, minutes-float64(part*partMinutes)) * 60 * sampleRate)
			streams = append(streams, Stream{
				Name: fmt.Sprintf("%s %d", kind, part+1), Group: "generated " + kind,
				Open: func() (Audio, error) {
					if kind == "notes" {
						return newNotes(n, sampleRate, seed, part), nil
					}
					return &colouredNoise{left: n, draw: random.New(seed, random.Noise, 2, part), white: random.New(seed, random.Noise, 3, part)}, nil
				},
			})
		}
	}
	return streams, nil
}

// MaxGenerated is the largest number of minutes for Generated.
const MaxGenerated = 100_000

const partMinutes = 10 // of a stream

// colouredNoise is noise between white and brown. Its colour and level change every 20,000 samples.
type colouredNoise struct {
	left        int
	at          uint64
	y           float64
	pole, level float64
	draw, white random.Stream
}

// Read implements audio.Source.
func (c *colouredNoise) Read(dst []float32) (int, error) {
	n := min(len(dst), c.left)
	for i := range n {
		if c.at%20000 == 0 {
			k := c.at / 10000
			c.pole, c.level = 0.98*c.draw.Float64(k), math.Pow(10, -1-2*c.draw.Float64(k+1))
		}
		c.y = c.pole*c.y + math.Sqrt(1-c.pole*c.pole)*c.level*c.white.Normal(c.at)
		dst[i] = float32(c.y)
		c.at++
	}
	if c.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (*colouredNoise) Close() error { return nil }

// notes are three voices that play random notes of a scale, with partials, vibrato, attacks and
// rests.
type notes struct {
	left   int
	at     int
	rate   float64
	voices [3]voice
}

// voice plays one note after the other. Notes fade out while the next one begins.
type voice struct {
	draw    random.Stream
	used    uint64
	octave  int
	next    float64 // seconds: onset of the next note
	playing []note
}

// note is a note of a voice.
type note struct{ pitch, from, length, loud, bright, phase float64 }

func newNotes(n int, rate float64, seed uint64, part int) *notes {
	s := &notes{left: n, rate: rate}
	for i := range s.voices {
		s.voices[i] = voice{draw: random.New(seed, random.Noise, 4+part, i), octave: i}
	}
	return s
}

// fade is the time in seconds in which a note fades out.
const fade = 0.1

// Read implements audio.Source.
func (s *notes) Read(dst []float32) (int, error) {
	n := min(len(dst), s.left)
	if n == 0 {
		return 0, io.EOF
	}
	dst = dst[:n]
	clear(dst)
	for i := range s.voices {
		s.voices[i].play(dst, s.at, s.rate)
	}
	s.at += n
	s.left -= n
	return n, nil
}

// Close implements io.Closer.
func (*notes) Close() error { return nil }

func (v *voice) number() float64 {
	v.used++
	return v.draw.Float64(v.used)
}

var (
	scale   = []float64{0, 2, 4, 7, 9, 12, 14, 16, 19, 21, 24} // semitones
	lengths = []float64{0.15, 0.3, 0.6, 1.2}                   // seconds
)

// play adds the voice to dst, whose first sample is sample at.
func (v *voice) play(dst []float32, at int, rate float64) {
	for v.next*rate < float64(at+len(dst)) {
		step := scale[int(v.number()*float64(len(scale)))]
		n := note{
			pitch: 110 * math.Pow(2, float64(v.octave)+step/12), from: v.next, length: lengths[int(v.number()*float64(len(lengths)))],
			loud: 0.02 + 0.1*v.number(), bright: 0.3 + 0.6*v.number(),
		}
		v.playing = append(v.playing, n)
		if v.next += n.length; v.number() < 0.2 {
			v.next += 0.5 * v.number()
		}
	}
	kept := v.playing[:0]
	for _, n := range v.playing {
		n.play(dst, at, rate)
		if (n.from+n.length+fade)*rate > float64(at+len(dst)) {
			kept = append(kept, n)
		}
	}
	v.playing = kept
}

// play adds the note to dst.
func (n *note) play(dst []float32, at int, rate float64) {
	from, to := max(at, int(n.from*rate)), min(at+len(dst), int((n.from+n.length+fade)*rate))
	for i := from; i < to; i++ {
		t := float64(i)/rate - n.from
		n.phase += 2 * math.Pi * n.pitch / rate * (1 + 0.004*math.Sin(2*math.Pi*5*t))
		amplitude := n.loud * (1 - math.Exp(-t/0.01)) * math.Exp(-t/n.length) * min(1, max(0, n.length+fade-t)/fade)
		// sin kφ = 2 cos φ · sin (k−1)φ − sin (k−2)φ
		before, partial := 0.0, math.Sin(n.phase)
		twice := 2 * math.Cos(n.phase)
		for k := 1; k <= 8 && float64(k)*n.pitch < rate/2; k++ {
			dst[i-at] += float32(amplitude * partial)
			amplitude *= n.bright
			before, partial = partial, twice*partial-before
		}
	}
}
