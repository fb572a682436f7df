package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// word is a clip in a stream.
type word struct {
	onset, end int64
	label      string
}

// speechLevel is the root mean square of a word in a stream: −26 dB over full scale.
var speechLevel = math.Pow(10, -26./20)

// The levels of clips.
const (
	equal   = "equal"
	natural = "natural"
)

// build puts the clips in random order, with gaps of 0.3 to 1.5 s, into white noise.
func (o options) build(clips *dataset.Dataset, set dataset.Set) (x []float32, words []word, err error) {
	draw := random.New(o.seed, random.Noise, 0, 0)
	gap := func(i int) int { return int((0.3 + 1.2*draw.Float64(uint64(i))) * clips.SampleRate) }
	var e dataset.Example
	power := 0.0
	for i, k := range random.New(o.seed, random.Shuffle, 0, 0).Perm(set.Len()) {
		if err := set.Example(&e, k, 0); err != nil {
			return nil, nil, err
		}
		x = append(x, make([]float32, gap(i))...)
		words = append(words, word{int64(len(x)), int64(len(x) + e.Len), clips.Labels[e.Label]})
		x = append(x, o.scaled(e.X[:e.Len])...)
		level := rms(x[len(x)-e.Len:])
		power += level * level / float64(set.Len())
	}
	x = append(x, make([]float32, gap(set.Len()))...)
	level := math.Sqrt(power) * math.Pow(10, -o.snr/20)
	white := random.New(o.seed, random.Noise, 1, 0)
	for i := range x {
		x[i] += float32(level * white.Normal(uint64(i)))
	}
	return x, words, nil
}

// scaled returns a clip at the level that the options give it.
func (o options) scaled(clip []float32) []float32 {
	if o.levels == natural {
		return clip
	}
	gain := speechLevel / max(rms(clip), 1e-9)
	out := make([]float32, len(clip))
	for i, v := range clip {
		out[i] = float32(gain * float64(v))
	}
	return out
}

// readSpeech joins the WAV files of a folder, one directly after the other in random order, at a
// rate in Hz.
func (o options) readSpeech(rate int) (x []float32, err error) {
	var files []string
	err = filepath.WalkDir(o.speech, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(path), ".wav") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s contains no .wav files", o.speech)
	}
	for _, k := range random.New(o.seed, random.Shuffle, 1, 0).Perm(len(files)) {
		clip, format, err := audio.ReadWAVFile(files[k])
		if err != nil {
			return nil, err
		}
		if format.Channels != 1 {
			return nil, fmt.Errorf("%s: %d channels, expected 1", files[k], format.Channels)
		}
		r, err := audio.NewResampler(format.SampleRate, rate)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[k], err)
		}
		x = append(x, o.scaled(r.Flush(r.Process(nil, clip)))...)
	}
	return x, nil
}

func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// noise alternates between white and brown, and between levels, every few seconds.
func noise(n int, seed uint64) []float32 {
	x := make([]float32, n)
	draw, white := random.New(seed, random.Noise, 2, 0), random.New(seed, random.Noise, 3, 0)
	y, pole, level := 0.0, 0.0, 0.01
	for i := range x {
		if i%20000 == 0 {
			k := uint64(i / 10000)
			pole, level = 0.98*draw.Float64(k), math.Pow(10, -1-2*draw.Float64(k+1))
		}
		y = pole*y + math.Sqrt(1-pole*pole)*level*white.Normal(uint64(i))
		x[i] = float32(y)
	}
	return x
}

// voice is a note of the music.
type voice struct{ f, from, length, loud, bright float64 }

// music is three voices that play random notes of a scale, with partials, vibrato, attacks and
// rests.
func music(n int, rate float64, seed uint64) []float32 {
	x := make([]float32, n)
	scale := []int{0, 2, 4, 7, 9, 12, 14, 16, 19, 21, 24}
	for part := range 3 {
		draw, used := random.New(seed, random.Noise, 4, part), uint64(0)
		next := func() float64 { used++; return draw.Float64(used) }
		for at := 0.0; int(at*rate) < n; {
			v := voice{
				f:    110 * math.Pow(2, float64(part)+float64(scale[int(next()*float64(len(scale)))])/12),
				from: at, length: cmp.Or([]float64{0.15, 0.3, 0.6, 1.2}[int(4*next())], 0.3), loud: 0.02 + 0.1*next(), bright: 0.3 + 0.6*next(),
			}
			v.play(x, rate)
			if at += v.length; next() < 0.2 {
				at += 0.5 * next()
			}
		}
	}
	return x
}

// play adds the note to x.
func (v voice) play(x []float32, rate float64) {
	from, to := int(v.from*rate), int((v.from+v.length+0.1)*rate)
	phase := 0.0
	for i := from; i < min(to, len(x)); i++ {
		t := float64(i-from) / rate
		phase += 2 * math.Pi * v.f / rate * (1 + 0.004*math.Sin(2*math.Pi*5*t))
		envelope := v.loud * (1 - math.Exp(-t/0.01)) * math.Exp(-t/v.length) * min(1, max(0, v.length+0.1-t)/0.1)
		amplitude := envelope
		for k := 1; k <= 8 && float64(k)*v.f < rate/2; k++ {
			x[i] += float32(amplitude * math.Sin(float64(k)*phase))
			amplitude *= v.bright
		}
	}
}
