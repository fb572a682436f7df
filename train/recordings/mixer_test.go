package recordings

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Every share selects what its field says.
func TestStreamShares(t *testing.T) {
	count := func(change func(*StreamOptions)) (words, embedded, unscored, scored int, loud float64) {
		o := plainStreams()
		change(&o)
		set := mixed(t, testSounds(1), o)
		var e dataset.Example
		for i := range set.Len() {
			x, w := set.Audio(nil, i, 0)
			must.Do(t, set.Example(&e, i, 0))
			words += len(w)
			for _, v := range w {
				if v.Embedded {
					embedded++
				}
			}
			for _, label := range e.Labels {
				switch label {
				case -1:
					unscored++
				case 0, 1:
					scored++
				}
			}
			loud += synth.MeanSquare(x)
		}
		return
	}
	for name, change := range map[string]func(*StreamOptions){
		"OtherShare":    func(o *StreamOptions) { o.OtherShare = 1 },
		"FragmentShare": func(o *StreamOptions) { o.FragmentShare = 1 },
		"SoundShare":    func(o *StreamOptions) { o.SoundShare = 1 },
		"WordlessShare": func(o *StreamOptions) { o.WordlessShare = 1 },
		"EmptyShare":    func(o *StreamOptions) { o.EmptyShare, o.NoiseFree = 1, 0 },
	} {
		words, _, unscored, scored, loud := count(change)
		if words+unscored+scored != 0 || loud == 0 {
			t.Errorf("%s: %d words, %d frames without a score and %d of words, power %v", name, words, unscored, scored, loud)
		}
	}
	words, embedded, unscored, scored, _ := count(func(o *StreamOptions) { o.EmbeddedShare = 1 })
	if words == 0 || embedded != words || unscored == 0 || scored != 0 {
		t.Errorf("EmbeddedShare: %d words, %d of them embedded, %d frames without a score, %d with", words, embedded, unscored, scored)
	}
}

// A sound that lasts has its label from half a second after its onset to its end, in pieces of a
// quarter to half a stream.
func TestStreamWhole(t *testing.T) {
	long := testSounds(1)
	for i := range long.Words {
		long.Words[i] = NewClip("", i%2, burst(5*soundRate, 400, 5*soundRate, 1000, 0.1))
	}
	must.Equal(t, long.Duration() > 4.9, true, "the sounds last 4.95 s")
	o := plainStreams()
	o.Whole, o.LabelLatest, o.FragmentShare = true, 0.5, 0.5
	set := mixed(t, long, o)
	var e dataset.Example
	for i := range set.Len() {
		_, words := set.Audio(nil, i, 0)
		must.Do(t, set.Example(&e, i, 0))
		for _, w := range words {
			if seconds := float64(w.End-w.Onset) / soundRate; seconds < 0.99 || seconds > 2.01 {
				t.Errorf("a piece of %.2f s", seconds)
			}
			for k := w.Onset/160 + 29; k < min(e.Len, w.End/160); k++ { // 0.58 s: frames of 20 ms
				if e.Labels[k] != int32(w.Label) {
					t.Fatalf("frame %d of the stream, word at %d: label %d", k, w.Onset/160, e.Labels[k])
				}
			}
		}
	}
}

// A whole recording has what is around its word.
func TestStreamUncut(t *testing.T) {
	quiet := testSounds(1)
	for i := range quiet.Words {
		x := burst(6400, 0, 6400, 10, 1e-4)
		for k := 2400; k < 4000; k++ {
			x[k] += float32(0.1 * math.Sin(float64(k)))
		}
		quiet.Words[i] = NewClip("", i%2, x)
	}
	for whole, share := range map[float64][2]float64{0: {0.1, 0.5}, 1: {0.6, 1}} {
		o := plainStreams()
		o.Uncut, o.Margin = whole, Range{}
		x, _ := mixed(t, quiet, o).Audio(nil, 0, 0)
		sounding := 0.0
		for _, v := range x {
			if v != 0 {
				sounding += 1 / float64(len(x))
			}
		}
		if sounding < share[0] || sounding > share[1] {
			t.Errorf("Uncut %v: %.2f of a stream is not silent, expected %v", whole, sounding, share)
		}
	}
	// The reverberation and the filter change the audio, and not the words.
	for name, change := range map[string]func(*StreamOptions){
		"ReverbShare": func(o *StreamOptions) { o.ReverbShare = 1 },
		"FilterShare": func(o *StreamOptions) { o.FilterShare = 1 },
	} {
		o := plainStreams()
		plain := mixed(t, testSounds(1), o)
		change(&o)
		changed := mixed(t, testSounds(1), o)
		same := 0
		for i := range plain.Len() {
			x, w := plain.Audio(nil, i, 0)
			y, v := changed.Audio(nil, i, 0)
			if !slices.Equal(w, v) {
				t.Errorf("%s: words %v, without %v", name, v, w)
			}
			if slices.Equal(x, y) {
				same++
			}
			if a, b := math.Sqrt(synth.MeanSquare(x)), math.Sqrt(synth.MeanSquare(y)); b < a/2 || b > a*2 {
				t.Errorf("%s: stream %d has level %v, without %v", name, i, b, a)
			}
		}
		if same > 4 {
			t.Errorf("%s: %d of 20 streams are unchanged", name, same)
		}
	}
}

// A mask replaces up to BandMask neighbouring bands of a training stream by their means.
func TestBandMask(t *testing.T) {
	o := plainStreams()
	plain := must.Get(MixStreams(testSounds(1), testSounds(1), o))(t)
	o.BandMask = 6
	masked := must.Get(MixStreams(testSounds(1), testSounds(1), o))(t)
	must.Equal(t, fmt.Sprint(masked.Mean), fmt.Sprint(plain.Mean), "means")
	var e, m dataset.Example
	widest, masks := 0, map[int]bool{}
	for i := range 60 {
		must.Do(t, plain.Train.Example(&e, i%20, i/20))
		must.Do(t, masked.Train.Example(&m, i%20, i/20))
		changed := 0
		for b := range 40 {
			row, want := m.X[b*m.Len:(b+1)*m.Len], e.X[b*m.Len:(b+1)*m.Len]
			if slices.Equal(row, want) {
				continue
			}
			changed++
			masks[b] = true
			for _, v := range row {
				if v != masked.Mean[b] {
					t.Fatalf("stream %d, band %d has %v, expected its mean, %v", i, b, v, masked.Mean[b])
				}
			}
		}
		widest = max(widest, changed)
	}
	if widest > 12 || widest < 8 || len(masks) < 35 {
		t.Errorf("up to %d bands are masked, and %d in any stream; expected up to 12, and nearly all", widest, len(masks))
	}
	must.Do(t, plain.Val.Example(&e, 3, 0))
	must.Do(t, masked.Val.Example(&m, 3, 0))
	if !slices.Equal(e.X, m.X) {
		t.Error("a validation stream is masked")
	}
}

// A folder, and then a recording of it, is drawn with a probability that is proportional to the
// square root of its length.
func TestSources(t *testing.T) {
	lengths, folder := []int{1600, 6400, 14400, 100, 300}, []int{2, 2, 2, 0, 0}
	total := math.Sqrt(22400) + math.Sqrt(400)
	want := []float64{1. / 6, 2. / 6, 3. / 6, 10 / (10 + math.Sqrt(300)), math.Sqrt(300) / (10 + math.Sqrt(300))}
	var clips []Clip
	for i := range lengths {
		clips = append(clips, Clip{Source: folder[i]})
		want[i] *= map[int]float64{2: math.Sqrt(22400), 0: math.Sqrt(400)}[folder[i]] / total
	}
	s := newSources(clips, func(i int) int { return lengths[i] })
	r := random.Sampler{Stream: random.New(1, random.Noise, 0, 0)}
	const draws = 20000
	count := make([]int, len(want))
	for range draws {
		count[s.draw(&r)]++
	}
	for i, p := range want {
		if got, deviation := float64(count[i])/draws, math.Sqrt(p*(1-p)/draws); math.Abs(got-p) > 4*deviation {
			t.Errorf("%d samples of folder %d: drawn with probability %.4f, expected %.4f ± %.4f", lengths[i], folder[i], got, p, 4*deviation)
		}
	}
}

// More of what must not trigger a detector does not make it worse: with a folder of 200 short
// recordings besides, it still learns from two long ones which sounds are nearly words.
func TestMoreOtherSpeech(t *testing.T) {
	s, pitches := Sounds{SampleRate: soundRate, Labels: []string{"low", "high"}}, []float64{600, 1800}
	tones := func(n int, factor float64) (x []float32, words []calibration.Word) {
		for i := range n {
			pause, length := 3200, 1500+100*(i%6)
			words = append(words, calibration.Word{Onset: int64(len(x) + pause), End: int64(len(x) + pause + length), Label: s.Labels[i%2]})
			x = append(x, burst(pause+length, pause, pause+length, factor*pitches[i%2], 0.1)...)
		}
		return append(x, make([]float32, soundRate/2)...), words // the last event ends in it
	}
	words, list := tones(40, 1)
	similar, _ := tones(80, 1.2)
	open := func(x []float32) func() (calibration.Audio, error) {
		return func() (calibration.Audio, error) { return &calibration.Memory{Rest: x}, nil }
	}
	streams := []calibration.Stream{{Words: list, Open: open(words)}, {Background: "similar", Open: open(similar)}}
	for i := range 6 {
		s.Words = append(s.Words, NewClip("", i%2, burst(6400, 2400, 3900+100*i, pitches[i%2], 0.1)))
	}
	for _, factor := range []float64{1.18, 1.22} {
		x, _ := tones(60, factor)
		s.Other = append(s.Other, NewClip("", 0, x))
	}
	o, c := plainStreams(), train.Default()
	o.Seed, o.OtherShare, o.WordlessShare, o.Length, o.Streams, o.Filterbank.Bands = 4, 0.3, 0.1, 1.5, 256, 16
	c.Seed, c.Model.DModel, c.Model.NLayers, c.Model.Pool, c.Optim.LR, c.Train.Epochs, c.Train.Batch = 4, 16, 1, "none", 0.04, 4, 8
	c.SSM.DState, c.SSM.Init, c.SSM.DtMin, c.SSM.DtMax, c.SSM.Bidirectional = 8, "lin", 0.02, 1, false
	for _, short := range []int{0, 200} {
		for i := range short {
			s.Other = append(s.Other, Clip{Source: 1, Int16: NewClip("", 0, burst(3200, 0, 2400, 3000+float64(i), 0.1)).Int16})
		}
		trainer := must.Get(train.New(t.Context(), c, must.Get(MixStreams(s, s, o))(t), train.Options{}))(t)
		must.Do(t, trainer.Fit(t.Context()))
		p := must.Get(calibration.Measure(t.Context(), trainer.Best(), streams, calibration.Options{Candidates: []events.Options{events.Defaults()}, Tolerance: 0.3}))(t).Points[0]
		if alarms := p.All().FalseAlarms; alarms > 4 || p.Missed() > 4 {
			t.Errorf("with %d short recordings: %d of 80 similar sounds are false alarms, %d of 40 words missed", short, alarms, p.Missed())
		}
	}
}
