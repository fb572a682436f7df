// Command words measures how well a model detects words in streams. The words are clips of the Free
// Spoken Digit Dataset with gaps of 0.3 to 1.5 s between them, in white noise. In noise and music
// without words, and in recordings of other speech, every event is a false one.
//
//	go run ./bench/words -data data/fsdd -minutes 20
//	go run ./bench/words -data data/fsdd -levels natural -speech data/other-words
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

// options are the flags that describe the streams.
type options struct {
	snr     float64
	levels  string
	seed    uint64
	minutes float64
	speech  string
}

func main() {
	var o options
	flag.Float64Var(&o.snr, "snr", 20, "words over noise in `dB`; at natural levels, the words' mean power")
	flag.StringVar(&o.levels, "levels", equal, "equal: every clip of words and speech has the same level; natural: clips keep their own")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of gaps, order and noise")
	flag.Float64Var(&o.minutes, "minutes", 5, "minutes of noise, and of music")
	flag.StringVar(&o.speech, "speech", "", "`folder` of WAV files with speech that has none of the words, at any depth")
	data := flag.String("data", "", "`folder` of the Free Spoken Digit Dataset")
	split := flag.String("split", "val", "clips to use: train, val, test or all")
	path := flag.String("model", "", "model `file` (default: the built-in model digits)")
	out := flag.String("out", "", "WAV `file` to write the stream of words to")
	opt := events.Defaults()
	threshold := flag.Float64("threshold", opt.Threshold, "as in stream")
	off := flag.Float64("off-threshold", -1, "as in stream; below 0: half of -threshold")
	flag.IntVar(&opt.Confirm, "confirm", opt.Confirm, "as in stream")
	flag.Float64Var(&opt.Refractory, "refractory", opt.Refractory, "as in stream")
	flag.Parse()
	if opt = opt.WithThreshold(*threshold); *off >= 0 {
		opt.OffThreshold = *off
	}
	fail(o.validate())
	m, err := load(*path)
	fail(err)
	r, err := events.New(m, opt)
	fail(err)
	clips, err := dataset.Load("fsdd", dataset.Options{Dir: *data, Split: *split})
	fail(err)
	if r.SampleRate() != clips.SampleRate {
		fail(fmt.Errorf("the clips have a rate of %g Hz, expected the model's %g Hz", clips.SampleRate, r.SampleRate()))
	}
	set, err := clips.Split(*split)
	fail(err)
	stream, words, err := o.build(clips, set)
	fail(err)
	if *out != "" {
		fail(audio.WriteWAVFile(*out, int(r.SampleRate()), stream))
	}
	result, err := o.measure(r, stream, words)
	fail(err)
	result.write(os.Stdout, o)
}

func (o options) validate() error {
	if o.levels != equal && o.levels != natural {
		return fmt.Errorf("-levels %q, expected %s or %s", o.levels, equal, natural)
	}
	if !(o.minutes > 0) {
		return fmt.Errorf("-minutes %v, expected more than 0", o.minutes)
	}
	return nil
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// load reads a model file; without a path, the built-in model.
func load(path string) (*model.Model, error) {
	if path == "" {
		return pretrained.Load("digits")
	}
	return model.Load(path)
}

// result is what a model detects in the streams.
type result struct {
	words   score
	seconds float64  // of the stream of words
	others  []others // without words
}

// others is a stream without words, where every event is false.
type others struct {
	name    string
	minutes float64
	events  int
}

func (o others) perMinute() float64 { return float64(o.events) / o.minutes }

// measure recognises the words of a stream, and the false events in noise, in music and in speech.
func (o options) measure(r *events.Recognizer, stream []float32, words []word) (result, error) {
	found, err := r.Recognize(stream)
	if err != nil {
		return result{}, err
	}
	rate := r.SampleRate()
	res := result{words: compare(words, found, int64(0.3*rate)), seconds: float64(len(stream)) / rate}
	n := int(o.minutes * 60 * rate)
	sounds := []struct {
		name string
		make func() ([]float32, error)
	}{
		{"noise", func() ([]float32, error) { return noise(n, o.seed), nil }},
		{"music", func() ([]float32, error) { return music(n, rate, o.seed), nil }},
		{"speech", func() ([]float32, error) { return o.readSpeech(int(rate)) }},
	}
	if o.speech == "" {
		sounds = sounds[:2]
	}
	for _, s := range sounds {
		x, err := s.make()
		if err != nil {
			return result{}, err
		}
		found, err := r.Recognize(x)
		if err != nil {
			return result{}, err
		}
		res.others = append(res.others, others{s.name, float64(len(x)) / rate / 60, len(found)})
	}
	return res, nil
}

func (r result) write(w io.Writer, o options) {
	s := r.words
	fmt.Fprintf(w, "words   %d in %.1f minutes, %s levels, %g dB over noise\n", s.words, r.seconds/60, o.levels, o.snr)
	fmt.Fprintf(w, "        precision %.3f, recall %.3f, F1 %.3f\n", s.precision(), s.recall(), s.f1())
	fmt.Fprintf(w, "        %d events: %d of another label, %d without a word\n", s.events, s.mistaken, s.false)
	for _, v := range r.others {
		fmt.Fprintf(w, "%-7s %.2f false events per minute (%d in %.1f minutes)\n", v.name, v.perMinute(), v.events, v.minutes)
	}
}
