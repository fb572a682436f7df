package recordings

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

const soundRate = 8000

// burst returns n samples with a tone of f Hz in [from, to).
func burst(n, from, to int, f, amplitude float64) []float32 {
	x := make([]float32, n)
	for i := from; i < to; i++ {
		x[i] = float32(amplitude * math.Cos(2*math.Pi*f*float64(i-from)/soundRate))
	}
	return x
}

// testSounds has two words of 0.2 s in clips of 0.8 s, of 1000·scale and 1500·scale Hz, three clips
// of each, other speech of 700·scale Hz and 3 s, and a background of 2 s.
func testSounds(scale float64) Sounds {
	s := Sounds{SampleRate: soundRate, Labels: []string{"low", "high"}}
	for i := range 6 {
		f := (1000 + 500*float64(i%2)) * scale
		s.Words = append(s.Words, NewClip(fmt.Sprintf("word %d", i), i%2, burst(6400, 2400+100*i, 4000+100*i, f, 0.1)))
	}
	s.Other = []Clip{NewClip("other", 0, burst(24000, 0, 24000, 700*scale, 0.3))}
	s.Background = []Clip{NewClip("background", 0, burst(16000, 0, 16000, 400*scale, 0.5))}
	return s
}

// plainStreams are the options of streams that have only words as recorded, in silence.
func plainStreams() StreamOptions {
	o := DefaultStreams(soundRate)
	o.Streams, o.ValStreams = 20, 10
	o.OtherShare, o.FragmentShare, o.SoundShare, o.EmbeddedShare, o.EmptyShare, o.WordlessShare = 0, 0, 0, 0, 0, 0
	o.ReverbShare, o.FilterShare, o.NoiseFree, o.BandMask, o.Uncut = 0, 0, 1, 0, 0
	o.Speed, o.WordGain, o.Level, o.Offset = Range{1, 1}, Range{0, 0}, Range{-20, -20}, Range{-1000, -1000}
	return o
}

func mixed(t *testing.T, train Sounds, o StreamOptions) *StreamSet {
	t.Helper()
	return must.Get(newStreamSet(&train, "train", o, o.Streams, random.Noise))(t)
}

// The words of a stream are where the audio is loud, and frames have their labels from 80 % of them
// to 0.2 s after them.
func TestStreamLabels(t *testing.T) {
	o := plainStreams()
	for _, o.Speed = range []Range{{1, 1}, {0.85, 1.15}} {
		set := mixed(t, testSounds(1), o)
		var e dataset.Example
		heard := [3]int{}
		for i := range set.Len() {
			x, words := set.Audio(nil, i, 0)
			must.Do(t, set.Example(&e, i, 0))
			if len(x) != 4*soundRate || e.Len != 200 || len(e.Labels) != e.Len || len(e.X) != 40*e.Len || e.Label != -1 {
				t.Fatalf("%d samples, %d frames, %d labels, %d values, label %d", len(x), e.Len, len(e.Labels), len(e.X), e.Label)
			}
			if len(words) < 2 {
				t.Errorf("stream %d: %d words in 4 s", i, len(words))
			}
			for k, v := range x { // the rule keeps 20 to 30 ms around the sound
				near := slices.ContainsFunc(words, func(w Word) bool { return k >= w.Onset && k < w.End })
				inside := slices.ContainsFunc(words, func(w Word) bool { return k >= w.Onset+480 && k < w.End-480 })
				if !near && v != 0 || inside && x[k-7] == 0 && x[k-3] == 0 && v == 0 {
					t.Fatalf("stream %d, sample %d is %v; words %v", i, k, v, words)
				}
			}
			for k, label := range e.Labels {
				at := float64(k+1) * 0.02
				want := int32(2)
				boundary := false
				for _, w := range words {
					onset, end := float64(w.Onset)/soundRate, float64(w.End)/soundRate
					from, to := onset+0.8*(end-onset), end+0.2
					if at >= from && at <= to {
						want = int32(w.Label)
					}
					boundary = boundary || math.Abs(at-from) < 0.0499 || math.Abs(at-to) < 0.0499
					if math.Abs(math.Abs(at-from)-0.05) < 0.001 || math.Abs(math.Abs(at-to)-0.05) < 0.001 {
						want = label // on the edge
					}
				}
				if boundary {
					want = -1
				}
				if label != want {
					t.Fatalf("stream %d, frame %d: label %d, expected %d; words %v", i, k, label, want, words)
				}
				if label >= 0 {
					heard[label]++
				}
			}
			// The loudest band tells the two words apart.
			for _, w := range words {
				k := (w.Onset+w.End)/2/o.Filterbank.Hop - 1
				if k >= e.Len {
					continue
				}
				loudest := 0
				for b := range 40 {
					if e.X[b*e.Len+k] > e.X[loudest*e.Len+k] {
						loudest = b
					}
				}
				if label := map[bool]int{false: 0, true: 1}[loudest > 20]; label != w.Label {
					t.Errorf("stream %d: band %d is loudest in word %v", i, loudest, w)
				}
			}
		}
		if slices.Min(heard[:]) == 0 {
			t.Errorf("frames per label: %v", heard)
		}
	}
}

// A word that lasts longer than a second has its label one second after its onset.
func TestLabelsOfLongWord(t *testing.T) {
	o := plainStreams()
	got := o.labels(nil, 200, []Word{{Label: 1, Onset: 8000, End: 24000}}, 2)
	for k, label := range got {
		want := int32(2)
		switch at := 2 * (k + 1); { // in hundredths of a second
		case at >= 195 && at <= 205 || at >= 315 && at <= 325:
			want = -1
		case at > 205 && at < 315:
			want = 1
		}
		must.Equal(t, label, want, "frame %d: label", k)
	}
}

// A stream is a function of seed, epoch and index. Concurrent calls do not interfere.
func TestStreamsAreFunctions(t *testing.T) {
	o := DefaultStreams(soundRate)
	o.Streams, o.ValStreams = 30, 10
	d := must.Get(MixStreams(testSounds(1), testSounds(1), o))(t)
	again := must.Get(MixStreams(testSounds(1), testSounds(1), o))(t)
	if !slices.Equal(d.Mean, again.Mean) || !slices.Equal(d.Std, again.Std) {
		t.Error("mean or standard deviation differ the second time")
	}
	key := func(s dataset.Set, i, epoch int) [32]byte {
		var e dataset.Example
		if err := s.Example(&e, i, epoch); err != nil {
			t.Error(err)
		}
		b, err := binary.Append(nil, binary.LittleEndian, e.X)
		if err == nil {
			b, err = binary.Append(b, binary.LittleEndian, e.Labels)
		}
		if err != nil {
			t.Error(err)
		}
		return sha256.Sum256(b)
	}
	want := map[[32]byte]bool{}
	for i := range 60 {
		want[key(d.Train, i%30, i/30)] = true
	}
	must.Equal(t, len(want), 60, "different streams in two epochs of 30")
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range 60 {
		wait.Go(func() {
			k := key(again.Train, i%30, i/30)
			mu.Lock()
			defer mu.Unlock()
			if !want[k] {
				t.Errorf("stream %d of epoch %d differs the second time", i%30, i/30)
			}
		})
	}
	wait.Wait()
	for i := range 10 {
		if k := key(d.Val, i, 0); k != key(again.Val, i, 5) || want[k] {
			t.Errorf("validation stream %d depends on the epoch, or is a training stream", i)
		}
	}
	o.Seed++
	other := must.Get(MixStreams(testSounds(1), Sounds{}, o))(t)
	if want[key(other.Train, 0, 0)] {
		t.Error("another seed gives the same stream")
	}
	if other.Val != nil || d.Train.Len() != 30 || d.Val.Len() != 10 {
		t.Errorf("%d and %d streams, validation without words: %v", d.Train.Len(), d.Val.Len(), other.Val)
	}
}

// Speech has its level while there is any, and background is below it by the signal-to-noise ratio.
func TestStreamLevels(t *testing.T) {
	o := plainStreams()
	o.Level, o.SNR, o.WordGain = Range{-45, -20}, Range{5, 40}, Range{-6, 6}
	clean := mixed(t, testSounds(1), o)
	o.NoiseFree = 0
	noisy := mixed(t, testSounds(1), o)
	lowest, highest := math.Inf(1), math.Inf(-1)
	quietest, loudest := math.Inf(1), math.Inf(-1)
	for epoch := range 5 {
		for i := range clean.Len() {
			x, words := clean.Audio(nil, i, epoch)
			y, _ := noisy.Audio(nil, i, epoch)
			power, n, noise := 0.0, 0, 0.0
			for k := range x {
				noise += math.Pow(float64(y[k]-x[k]), 2) / float64(len(x))
				if slices.ContainsFunc(words, func(w Word) bool { return k >= w.Onset && k < w.End }) {
					power += float64(x[k]) * float64(x[k])
					n++
				}
			}
			level := 10 * math.Log10(power/float64(n))
			snr := level - 10*math.Log10(noise)
			lowest, highest = min(lowest, snr), max(highest, snr)
			quietest, loudest = min(quietest, level), max(loudest, level)
		}
	}
	const tolerance = 0.05
	if lowest < 5-tolerance || lowest > 7 || highest > 40+tolerance || highest < 38 {
		t.Errorf("signal-to-noise ratios %.2f … %.2f dB, expected 5 … 40", lowest, highest)
	}
	if quietest < -45-tolerance || quietest > -44 || loudest > -20+tolerance || loudest < -21 {
		t.Errorf("levels %.2f … %.2f dB, expected -45 … -20", quietest, loudest)
	}
}

// Loud streams are limited to full scale, and the offset has its level and both signs.
func TestStreamClipsAndOffsets(t *testing.T) {
	o := plainStreams()
	o.Level, o.Offset = Range{-2, -2}, Range{-40, -40}
	set := mixed(t, testSounds(1), o)
	signs := map[float32]bool{}
	for i := range set.Len() {
		x, _ := set.Audio(nil, i, 0)
		if slices.Max(x) != 1 || slices.Min(x) != -1 {
			t.Errorf("stream %d: samples %v … %v, expected -1 … 1", i, slices.Min(x), slices.Max(x))
		}
		signs[x[0]] = true
	}
	if len(signs) != 2 || !signs[0.01] || !signs[-0.01] {
		t.Errorf("offsets %v, expected 0.01 and -0.01", signs)
	}
}

// Validation streams contain validation recordings only.
func TestStreamSplitsAreApart(t *testing.T) {
	o := DefaultStreams(soundRate)
	o.Streams, o.ValStreams, o.Speed, o.NoiseFree, o.SoundShare, o.Level = 20, 20, Range{1, 1}, 1, 0, Range{-30, -30}
	o.ReverbShare, o.FilterShare = 0, 0
	val := testSounds(1.2)
	val.Background = nil
	d := must.Get(MixStreams(testSounds(1), val, o))(t)
	at := func(s dataset.Set, f float64) float64 { // power near a frequency
		sum := 0.0
		for i := range s.Len() {
			x, _ := s.(*StreamSet).Audio(nil, i, 0)
			var re, im float64
			for k := range x {
				if k%800 == 0 {
					sum += re*re + im*im
					re, im = 0, 0
				}
				sin, cos := math.Sincos(2 * math.Pi * f * float64(k) / soundRate)
				re, im = re+float64(x[k])*cos, im+float64(x[k])*sin
			}
		}
		return sum
	}
	for _, f := range []float64{1000, 1500, 700} {
		if ratio := at(d.Val, f) / at(d.Val, 1.2*f); ratio > 0.05 {
			t.Errorf("validation streams have %.3f of their power at the training frequency %v Hz", ratio, f)
		}
		if ratio := at(d.Train, 1.2*f) / at(d.Train, f); ratio > 0.05 {
			t.Errorf("training streams have %.3f of their power at the validation frequency %v Hz", ratio, 1.2*f)
		}
	}
}

// MixStreams standardises bands: over the training streams, each has mean 0 and deviation 1.
func TestMixStreams(t *testing.T) {
	o := DefaultStreams(soundRate)
	o.Streams, o.BandMask = 0, 0
	d := must.Get(MixStreams(testSounds(1), testSounds(1), o))(t)
	if d.Train.Len() != 2 || d.Val.Len() != 2 || d.Channels != 40 || d.Outputs != 3 || !d.PerPosition || d.Regression ||
		!slices.Equal(d.Labels, []string{"low", "high", NoneLabel}) || d.SampleRate != soundRate || d.MaxLen != 200 || *d.Filterbank != o.Filterbank {
		t.Errorf("%d and %d streams, %+v", d.Train.Len(), d.Val.Len(), d.Info)
	}
	var m dataset.Moments
	var e dataset.Example
	for i := range 200 {
		must.Do(t, d.Train.Example(&e, i%2, i/2))
		m.Add(e.X[5*e.Len : 6*e.Len])
	}
	if mean, std := m.MeanStd(); mean != d.Mean[5] || std != d.Std[5] {
		t.Errorf("band 5: mean %v and deviation %v, expected %v and %v", d.Mean[5], d.Std[5], mean, std)
	}
	must.Equal(t, d.Train.Length(1), 200, "length")
	must.Equal(t, dataset.Fingerprint(d.Train, d.Info, ""), dataset.Fingerprint(d.Val, d.Info, ""), "fingerprint of the same recordings")
	changed := testSounds(1)
	changed.Words[3] = NewClip("", 1, burst(6400, 2400, 4000, 500, 0.1))
	if other := must.Get(MixStreams(changed, Sounds{}, o))(t); dataset.Fingerprint(other.Train, d.Info, "") == dataset.Fingerprint(d.Train, d.Info, "") {
		t.Error("another recording, same fingerprint")
	}
}

// Errors name the field, in words, and the recording.
func TestStreamErrors(t *testing.T) {
	change := func(want string, f func(train, val *Sounds, o *StreamOptions)) {
		t.Helper()
		train, val, o := testSounds(1), testSounds(1), plainStreams()
		f(&train, &val, &o)
		must.Reject(MixStreams(train, val, o))(t, want)
	}
	change("stream options: length in seconds NaN", func(_, _ *Sounds, o *StreamOptions) { o.Length = math.NaN() })
	change("streams -1", func(_, _ *Sounds, o *StreamOptions) { o.Streams = -1 })
	change("SNR -10 … NaN", func(_, _ *Sounds, o *StreamOptions) { o.SNR = Range{-10, math.NaN()} })
	change("neither split has Words", func(train, val *Sounds, _ *StreamOptions) { train.Words, val.Words = nil, nil })
	change(`val sounds: Labels ["x"], expected those of train, ["low" "high"]`, func(_, val *Sounds, _ *StreamOptions) { val.Labels = []string{"x"} })
	change("train sounds: SampleRate 16000 Hz, expected the filterbank's 8000 Hz", func(train, _ *Sounds, _ *StreamOptions) { train.SampleRate = 16000 })
	change(`train sounds: Words has no clip of "third"`, func(train, val *Sounds, _ *StreamOptions) {
		train.Labels, val.Labels = []string{"low", "high", "third"}, []string{"low", "high", "third"}
	})
}

func BenchmarkStream(b *testing.B) {
	o := DefaultStreams(16000)
	s := testSounds(1)
	s.SampleRate = 16000
	set := must.Get(newStreamSet(&s, "train", o, 10, random.Noise))(b)
	var e dataset.Example
	for i := 0; b.Loop(); i++ {
		must.Do(b, set.Example(&e, i%10, i/10))
	}
}
