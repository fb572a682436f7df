// Package tonemodel has handmade models that recognise two tones, and signals made of them. It is
// imported by tests only.
package tonemodel

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// SampleRate is the model's sampling rate in Hz.
const SampleRate = 8000

// Pitches are the frequencies of the tones in Hz, by label.
var Pitches = map[string]float64{"low": 500, "high": 1500}

// NewClips returns the model that reads samples and labels clips. It has two resonators of one mode
// each, whose rectified mean grows with the level of their pitch, and the labels "low", "high" and
// "none".
func NewClips() (*model.Model, error) {
	c := model.Default()
	c.DModel, c.DInput, c.DOutput, c.NLayers = 2, 1, 3, 1
	c.Norm, c.Mixing, c.Residual = model.NormNone, model.MixingNone, false
	c.SSM = ssm.Config{DState: 2, Init: ssm.Lin, Disc: ssm.ZOH, AReal: 0.5, DtMin: 0.1, DtMax: 0.1}
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	m.Meta = model.Meta{Labels: []string{"low", "high", "none"}, SampleRate: SampleRate}
	w := m.Weights
	w.Zero()
	copy(w.EncoderWeight, []float32{1, 1})
	const step, decay = 1.0, 0.02 // a resonance about 25 Hz wide
	for h, label := range []string{"low", "high"} {
		w.Layers[0].Step[h] = float32(math.Log(step))
		w.Layers[0].Decay[h] = float32(math.Log(decay))
		w.Layers[0].Freq[h] = float32(2 * math.Pi * Pitches[label] / SampleRate)
		w.Layers[0].C[2*h] = 2 * decay
	}
	copy(w.DecoderWeight, []float32{400, -100, -100, 400, 0, 0})
	copy(w.DecoderBias, []float32{-4, -4, 0})
	return m, nil
}

// Tone is a tone in a signal: its first sample and its exclusive end.
type Tone struct {
	Onset, End int64
	Label      string
}

// Sound is a signal under construction, with samples of full scale ±1.
type Sound struct {
	Samples []float32
	Tones   []Tone
}

// Silence appends silence.
func (s *Sound) Silence(seconds float64) {
	s.Samples = append(s.Samples, make([]float32, int(seconds*SampleRate))...)
}

// Tone appends a tone of amplitude 0.3.
func (s *Sound) Tone(label string, seconds float64) {
	from := len(s.Samples)
	s.Silence(seconds)
	for i := from; i < len(s.Samples); i++ {
		s.Samples[i] = float32(0.3 * math.Sin(2*math.Pi*Pitches[label]*float64(i-from)/SampleRate))
	}
	s.Tones = append(s.Tones, Tone{int64(from), int64(len(s.Samples)), label})
}

// Noise adds white noise of the given standard deviation to the whole signal.
func (s *Sound) Noise(deviation float64) {
	r := random.New(5, random.Noise, 0, 0)
	for i := range s.Samples {
		s.Samples[i] += float32(deviation * r.Normal(uint64(i)))
	}
}

// Words returns 8 s with seven tones of several lengths, with pauses, in noise.
func Words() *Sound {
	s := &Sound{}
	s.Silence(0.5)
	for i, seconds := range []float64{0.3, 0.5, 0.2, 0.8, 0.3, 0.25, 0.6} {
		s.Tone([]string{"low", "high", "high", "low"}[i%4], seconds)
		s.Silence(0.35 + 0.1*float64(i))
	}
	s.Noise(0.005)
	return s
}
