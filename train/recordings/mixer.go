package recordings

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/activity"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/synth"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Constants of the mixture. Times are in seconds.
const (
	shortestOther   = 0.3  // other speech that takes the place of a word
	otherGap        = 0.15 // longest pause between two recordings of other speech
	embeddedGap     = 0.03 // longest pause between an embedded word and the speech around it
	embeddedOther   = 1    // longest speech before or after an embedded word
	shortestSound   = 0.05
	longestSound    = 1
	soundGain       = 10    // dB by which a sound is louder or quieter than a word, at most
	fade            = 0.005 // at cuts
	babbleVoices    = 3     // voices in the background, at most
	backgroundSpeed = 0.35  // logarithm of the largest factor of the speed of background
	quietStreams    = 0.5   // share of streams with background only that have it at its usual level
	reversedShare   = 0.1   // share of fragments that are a word reversed
	exchangedShare  = 0.1   // share of fragments that are the two parts of a word exchanged
	joinedShare     = 0.4   // share of fragments that begin as one word and end as another
)

// mixer mixes one stream at a time. Its memory is reused.
type mixer struct {
	synth.Synth
	set        *StreamSet
	speech     []float32 // [samples]; then the whole stream
	background []float32 // [samples]
	clip       []float32
	piece      []float32         // of background
	active     []activity.Region // of the speech: its level is measured there
	words      []Word

	response, spectrum, scratch []float32 // of the room
}

// mix makes the stream of a random stream in m.speech and lists its words in m.words.
func (m *mixer) mix(stream random.Stream) {
	m.Sampler = random.Sampler{Stream: stream}
	m.words, m.active = m.words[:0], m.active[:0]
	clear(m.speech)
	o := &m.set.opt
	kind := m.Uniform()
	empty := kind < o.EmptyShare
	wordless := !empty && kind < o.EmptyShare+o.WordlessShare
	if !empty {
		m.items(wordless)
		if m.Chance(o.ReverbShare) {
			m.reverberate()
		}
		if m.Chance(o.FilterShare) {
			m.filter(m.speech)
		}
	}
	speech, level := m.speechLevel(), m.gain(o.Level)
	if speech > 0 {
		g := float32(level / speech)
		for i := range m.speech {
			m.speech[i] *= g
		}
	}
	if !m.Chance(o.NoiseFree) || empty {
		m.fillBackground(speech > 0)
		noise := level
		if snr := m.gain(o.SNR); speech > 0 || m.Chance(quietStreams) {
			noise /= snr
		}
		synth.ScaleTo(m.background, noise)
		for i, v := range m.background {
			m.speech[i] += v
		}
	}
	offset := float32(m.gain(o.Offset))
	if m.Chance(0.5) {
		offset = -offset
	}
	for i, v := range m.speech {
		m.speech[i] = max(-1, min(1, v+offset))
	}
}

// items fills the stream with words and other items.
func (m *mixer) items(wordless bool) {
	o, n := &m.set.opt, len(m.speech)
	for at := m.gap(); at < n; at += m.gap() {
		kind := m.Uniform()
		draw := func(share float64) bool {
			kind -= share
			return kind < 0
		}
		before := at
		switch {
		case (draw(o.OtherShare) || wordless) && len(m.set.other) > 0:
			longest := o.Length / 2
			if wordless {
				longest = o.Length
			}
			at = m.otherSpeech(at, m.logarithmic(shortestOther, max(longest, 2*shortestOther)))
		case (draw(o.FragmentShare) || wordless) && !o.Whole: // a part of a sound is that sound
			at = m.fragment(at)
		case draw(o.SoundShare):
			at = m.sound(at)
		case draw(o.EmbeddedShare) && len(m.set.other) > 0:
			at = m.otherSpeech(at, m.Between(0, embeddedOther)) + m.samplesOf(m.Between(0, embeddedGap))
			at = m.word(at, true) + m.samplesOf(m.Between(0, embeddedGap))
			at = m.otherSpeech(at, m.Between(0, embeddedOther))
		default:
			at = m.word(at, false)
		}
		at = max(at, before+1)
	}
}

// gap draws the samples between two items.
func (m *mixer) gap() int {
	u := m.Uniform()
	return m.samplesOf(m.set.opt.Gap.Low + (m.set.opt.Gap.High-m.set.opt.Gap.Low)*u*u*u)
}

// in returns a number of a range.
func (m *mixer) in(r Range) float64 { return m.Between(r.Low, r.High) }

// gain returns the amplitude of a range of decibels.
func (m *mixer) gain(r Range) float64 { return m.Amplitude(r.Low, r.High) }

func (m *mixer) samplesOf(seconds float64) int { return int(seconds * m.Rate) }

// randomWord draws a label, and then one of its clips.
func (m *mixer) randomWord() int {
	clips := m.set.byLabel[m.Below(len(m.set.byLabel))]
	return clips[m.Below(len(clips))]
}

// logarithmic returns a number from low to high with a uniform logarithm.
func (m *mixer) logarithmic(low, high float64) float64 {
	return math.Exp(m.Between(math.Log(low), math.Log(high)))
}

// add adds the clip in m.clip, whose part [onset, end) is active, so that the active part begins at
// position at. It returns the end of the active part.
func (m *mixer) add(at, onset, end int, gain float64) int {
	speed := m.logarithmic(m.set.opt.Speed.Low, m.set.opt.Speed.High)
	m.fade(onset, len(m.clip)-end)
	at -= int(float64(onset) / speed)
	synth.Stretch(m.speech, at, m.clip, speed, gain)
	r := activity.Region{Onset: at + int(float64(onset)/speed), End: at + int(float64(end)/speed)}
	if r.Onset < len(m.speech) {
		m.active = append(m.active, r)
	}
	return r.End
}

// fade fades the clip in and out over at most 5 ms, within its first and last samples.
func (m *mixer) fade(first, last int) {
	x := m.clip
	first, last = min(first, m.samplesOf(fade), len(x)), min(last, m.samplesOf(fade), len(x))
	for i := range first {
		x[i] *= float32(i) / float32(first)
	}
	for i := range last {
		x[len(x)-1-i] *= float32(i) / float32(last)
	}
}

// word adds a word with its onset at a position and returns its end.
func (m *mixer) word(at int, embedded bool) int {
	i := m.randomWord()
	c, r := &m.set.sounds.Words[i], m.set.words[i]
	margin := m.set.opt.Margin
	from := max(0, r.Onset-m.samplesOf(m.in(margin)))
	to := min(c.Len(), r.End+m.samplesOf(m.in(margin)))
	switch {
	case m.set.opt.Whole:
		if n := int(m.Between(0.25, 0.5) * float64(len(m.speech))); r.End-r.Onset > n {
			r.Onset += m.Below(r.End - r.Onset - n + 1)
			r.End = r.Onset + n
		}
		from, to = r.Onset, r.End
	case m.Chance(m.set.opt.Uncut):
		from, to = 0, c.Len()
	}
	m.clip = c.append(m.clip[:0], from, to)
	end := m.add(at, r.Onset-from, r.End-from, m.gain(m.set.opt.WordGain))
	if at < len(m.speech) {
		m.words = append(m.words, Word{Label: c.Label, Onset: at, End: end, Embedded: embedded})
	}
	return end
}

// fragment adds a piece of a word that is not a word.
func (m *mixer) fragment(at int) int {
	i := m.randomWord()
	c, r := &m.set.sounds.Words[i], m.set.words[i]
	n := r.End - r.Onset
	part := max(1, int(m.Between(0.3, 0.5)*float64(n)))
	switch kind := m.Uniform(); {
	case kind < reversedShare:
		m.clip = c.append(m.clip[:0], r.Onset, r.End)
		slices.Reverse(m.clip)
	case kind < reversedShare+exchangedShare:
		cut := r.Onset + min(n-1, part)
		m.clip = c.append(c.append(m.clip[:0], cut, r.End), r.Onset, cut)
	case kind < reversedShare+exchangedShare+joinedShare:
		j := m.randomWord()
		d, q := &m.set.sounds.Words[j], m.set.words[j]
		m.clip = c.append(m.clip[:0], r.Onset, r.Onset+part)
		if d.Label != c.Label {
			tail := max(1, int(m.Between(0.3, 0.6)*float64(q.End-q.Onset)))
			m.clip = d.append(m.clip, q.End-tail, q.End)
		}
	case m.Chance(0.5):
		m.clip = c.append(m.clip[:0], r.Onset, r.Onset+part)
	default:
		m.clip = c.append(m.clip[:0], r.End-part, r.End)
	}
	m.fade(len(m.clip)/2, len(m.clip)/2)
	return m.add(at, 0, len(m.clip), m.gain(m.set.opt.WordGain))
}

// otherSpeech adds about so many seconds of other speech: a part of a recording, or several
// recordings. They have the level of a word.
func (m *mixer) otherSpeech(at int, seconds float64) int {
	end := at + max(1, m.samplesOf(seconds))
	for next := at; next < min(end, len(m.speech)); next = at + m.samplesOf(m.Between(0, otherGap)) {
		i := m.set.otherOf.draw(&m.Sampler)
		c, r := &m.set.sounds.Other[i], m.set.other[i]
		from, to := r.Onset, r.End
		// A recording that is much longer than what is left is cut anywhere.
		if left := end - next; to-from > left*5/4 {
			from += m.Below(to - from - left)
			to = from + left
		}
		m.clip = c.append(m.clip[:0], from, to)
		m.fade(len(m.clip)/2, len(m.clip)/2)
		at = max(next+1, m.add(next, 0, len(m.clip), m.gain(m.set.opt.WordGain)*m.wordLevel()/max(r.Level, 1e-6)))
	}
	return at
}

// wordLevel returns the level of a random word.
func (m *mixer) wordLevel() float64 { return m.set.words[m.randomWord()].Level }

// sound adds a short sound that is not speech, about as loud as a word.
func (m *mixer) sound(at int) int {
	n := m.samplesOf(m.logarithmic(shortestSound, longestSound))
	m.clip = dataset.Resize(m.clip, max(1, n))
	m.ambience(m.clip, 0.6, 0.25)
	synth.ScaleTo(m.clip, m.wordLevel()*m.Amplitude(-soundGain, soundGain))
	m.fade(len(m.clip)/2, len(m.clip)/2)
	return m.add(at, 0, len(m.clip), 1)
}

// ambience fills x with a sound that is not speech: a recording of background with probability
// recorded, tones or notes with probability music, otherwise noise.
func (m *mixer) ambience(x []float32, recorded, music float64) {
	kind := m.Uniform()
	switch {
	case kind < recorded && len(m.set.sounds.Background) > 0:
		m.recorded(x)
	case kind < recorded+music && kind >= recorded:
		if m.Chance(0.5) {
			m.Tones(x)
		} else {
			m.Notes(x)
		}
	default:
		m.Noise(x)
	}
}

// recorded fills x with a piece of a background recording, at another speed and with another
// spectrum, so that a few recordings stand for many. It is repeated if it is too short.
func (m *mixer) recorded(x []float32) {
	c := &m.set.sounds.Background[m.set.backgroundOf.draw(&m.Sampler)]
	speed := math.Exp(m.Between(-backgroundSpeed, backgroundSpeed))
	needed := int(float64(len(x))*speed) + 2
	from := m.Below(max(1, c.Len()-needed+1))
	if c.Len() < needed {
		from = m.Below(c.Len())
	}
	clear(x)
	for at := 0; at < len(x); from = 0 {
		m.piece = c.append(m.piece[:0], from, min(c.Len(), from+needed))
		at = max(at+1, synth.Stretch(x, at, m.piece, speed, 1))
	}
	if m.Chance(m.set.opt.FilterShare) {
		m.filter(x)
	}
}

// fillBackground fills m.background. With speech in the foreground, it may be other speech.
func (m *mixer) fillBackground(speech bool) {
	o := &m.set.opt
	if !m.Chance(o.BabbleShare) || !speech || len(m.set.other) == 0 {
		rest := max(1-o.BabbleShare, 1e-9)
		m.ambience(m.background, o.RecordedShare/rest, o.MusicShare/rest)
		return
	}
	clear(m.background)
	m.speech, m.background = m.background, m.speech
	active := len(m.active)
	for range 1 + m.Below(babbleVoices) {
		for at := 0; at < len(m.speech); at += m.gap() {
			at = m.otherSpeech(at, m.set.opt.Length)
		}
	}
	m.active = m.active[:active]
	m.speech, m.background = m.background, m.speech
}

// reverberate puts the speech into a room.
func (m *mixer) reverberate() {
	o, room := &m.set.opt, m.set.room
	seconds, direct := m.in(o.ReverbTime), m.in(o.ReverbDirect)
	if m.spectrum == nil {
		m.spectrum = make([]float32, room.SpectrumLen())
		m.scratch = make([]float32, room.ScratchLen())
	}
	m.response = dataset.Resize(m.response, m.set.taps(seconds))
	m.Impulse(m.response, seconds, direct)
	room.Spectrum(m.spectrum, m.response, nil)
	room.Convolve(fftkernel.Rows{m.speech}, fftkernel.Rows{m.speech}, m.spectrum, m.scratch)
}

// filter limits the band of a sound and tilts its spectrum, as microphones and telephones do.
func (m *mixer) filter(x []float32) {
	if m.Chance(0.5) {
		synth.HighPass(m.Between(50, 400), m.Rate).Apply(x)
	}
	if m.Chance(0.5) {
		synth.LowPass(m.Rate/2*m.Between(0.35, 0.95), m.Rate).Apply(x)
	}
	if m.Chance(0.8) {
		synth.HighShelf(m.logarithmic(300, m.Rate/4), m.Between(-9, 9), m.Rate).Apply(x)
	}
}

// bandMasks is the number of masks per stream.
const bandMasks = 2

// mask replaces neighbouring bands of frames [bands][n] by their means.
func (m *mixer) mask(frames, means []float32, n int) {
	for range bandMasks {
		width := m.Below(m.set.opt.BandMask + 1)
		first := m.Below(len(means) - width + 1)
		for b := first; b < first+width; b++ {
			row := frames[b*n : (b+1)*n]
			for i := range row {
				row[i] = means[b]
			}
		}
	}
}

// speechLevel returns the root mean square of the speech in its active parts; 0 without any.
func (m *mixer) speechLevel() float64 {
	sum, n := 0.0, 0
	last := 0
	for _, r := range m.active { // in the order of time; parts may overlap by rounding
		r.Onset, r.End = max(r.Onset, last), min(r.End, len(m.speech))
		if r.End > r.Onset {
			sum += synth.MeanSquare(m.speech[r.Onset:r.End]) * float64(r.End-r.Onset)
			n += r.End - r.Onset
			last = r.End
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}
