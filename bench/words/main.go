// Command words scores a model's events on streams: validation clips of the Free Spoken Digit Dataset with gaps of 0.3 to 1.5 s
// between them, in noise; and noise and music alone, where every event is a false one.
//
//	go run ./bench/words -data data/fsdd [-model runs/digits/best.safetensors] [-snr 20] [-seed 1] [-minutes 5] [-out stream.wav]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func main() {
	data := flag.String("data", "", "`folder` of the Free Spoken Digit Dataset")
	path := flag.String("model", "", "model `file` (default: the model digits in the binary)")
	snr := flag.Float64("snr", 20, "`dB` of the words over the noise")
	seed := flag.Uint64("seed", 1, "of gaps, order and noise")
	minutes := flag.Float64("minutes", 5, "of noise alone, and of music alone")
	out := flag.String("out", "", "WAV `file` to write the stream of words to")
	opt := events.Defaults()
	threshold := flag.Float64("threshold", opt.Threshold, "as of stream")
	off := flag.Float64("off-threshold", -1, "as of stream; below 0: half of -threshold")
	flag.IntVar(&opt.Confirm, "confirm", opt.Confirm, "as of stream")
	flag.Float64Var(&opt.Refractory, "refractory", opt.Refractory, "as of stream")
	flag.Parse()
	if opt = opt.WithThreshold(*threshold); *off >= 0 {
		opt.OffThreshold = *off
	}
	m, err := load(*path)
	fail(err)
	finder, err := events.New(m, opt)
	fail(err)
	clips, err := dataset.Load("fsdd", dataset.Options{Dir: *data, Split: "val"})
	fail(err)
	if finder.SampleRate() != clips.SampleRate {
		fail(fmt.Errorf("the model hears audio at %g Hz, the clips have %g Hz", finder.SampleRate(), clips.SampleRate))
	}
	stream, words, err := build(clips, *snr, *seed)
	fail(err)
	if *out != "" {
		fail(audio.WriteWAVFile(*out, int(finder.SampleRate()), stream))
	}
	r, err := measure(finder, stream, words, *minutes, *seed)
	fail(err)
	r.write(os.Stdout, *snr)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// load reads a model file; without a path, the model in the binary.
func load(path string) (*model.Model, error) {
	if path == "" {
		return pretrained.Load("digits")
	}
	return model.Load(path)
}

// result is what a model makes of the streams.
type result struct {
	words        score
	seconds      float64 // of the stream of words
	noise, music float64 // false events a minute
}

// measure recognises the words of a stream, and the false events of some minutes of noise and of music.
func measure(r *events.Recognizer, stream []float32, words []word, minutes float64, seed uint64) (result, error) {
	n := int(minutes * 60 * r.SampleRate())
	found, err := r.Recognize(stream)
	if err != nil {
		return result{}, err
	}
	inNoise, err := r.Recognize(noise(n, seed))
	if err != nil {
		return result{}, err
	}
	inMusic, err := r.Recognize(music(n, r.SampleRate(), seed))
	return result{
		words:   compare(words, found, int64(0.3*r.SampleRate())),
		seconds: float64(len(stream)) / r.SampleRate(),
		noise:   float64(len(inNoise)) / minutes,
		music:   float64(len(inMusic)) / minutes,
	}, err
}

func (r result) write(w io.Writer, snr float64) {
	s := r.words
	fmt.Fprintf(w, "words   %d in %.1f minutes at %g dB: precision %.3f, recall %.3f, F1 %.3f (%d events; %d of another label, %d where nothing is)\n",
		s.words, r.seconds/60, snr, s.precision(), s.recall(), s.f1(), s.events, s.mistaken, s.false)
	fmt.Fprintf(w, "noise   %.2f false events a minute\n", r.noise)
	fmt.Fprintf(w, "music   %.2f false events a minute\n", r.music)
}
