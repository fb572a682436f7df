package corpus

import (
	"context"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// kind is a kind of noise. sound returns n samples, at any level.
type kind struct {
	name  string
	sound func(s *synth.Synth, n int) []float64
}

// kinds are the kinds of noise of each split.
var kinds = map[string][]kind{
	Train: {{"noise", filled((*synth.Synth).Noise)}, {"tones", filled((*synth.Synth).Tones)}, {"notes", filled((*synth.Synth).Notes)}},
	Test:  {{"band", band}, {"sweep", sweep}, {"crackle", crackle}, {"siren", siren}, {"beeps", beeps}, {"knocks", knocks}},
}

// filled returns the sound that fill writes.
func filled(fill func(s *synth.Synth, x []float32)) func(*synth.Synth, int) []float64 {
	return func(s *synth.Synth, n int) []float64 {
		x, y := make([]float32, n), make([]float64, n)
		fill(s, x)
		for i, v := range x {
			y[i] = float64(v)
		}
		return y
	}
}

// noiseSeconds is the length of a file of noise.
const noiseSeconds = 30

// Noises writes files of noise: Out/KIND/N.wav, half a minute each.
func Noises(ctx context.Context, o Options, minutes float64) error {
	files, list := int(math.Ceil(minutes*60/noiseSeconds)), kinds[o.Split]
	return par.Each(ctx, 0, files, func(_ context.Context, i int) error {
		k := list[i%len(list)]
		return o.write(func() ([]float32, error) { return k.file(o.draws("noises", i)), nil }, k.name, fmt.Sprintf("%d.wav", i))
	})
}

// file returns sections of 3 to 8 s, each with a level between −50 and −14 dB relative to full
// scale.
func (k kind) file(s *synth.Synth) []float32 {
	x := make([]float32, 0, noiseSeconds*rate)
	for len(x) < cap(x) {
		n := min(int(s.Between(3, 8)*s.Rate), cap(x)-len(x))
		y := k.sound(s, n)
		square, peak := 0.0, 0.0
		for _, v := range y {
			square += v * v
			peak = max(peak, math.Abs(v))
		}
		level := s.Amplitude(-50, -14)
		gain := min(level/(math.Sqrt(square/float64(n))+1e-9), 0.9/(peak+1e-9))
		for i, v := range y {
			edge := float64(min(i, n-1-i)) / (0.02 * s.Rate) // of 20 ms
			x = append(x, float32(gain*v*min(1, edge)))
		}
	}
	return x
}

// logarithmic draws from [low, high) with a uniform logarithm.
func logarithmic(s *synth.Synth, low, high float64) float64 {
	return low * math.Pow(high/low, s.Uniform())
}

// white is noise with the same power at all frequencies.
func white(s *synth.Synth, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		// The sum of three uniform variables is close enough to a normal one.
		x[i] = s.Between(-1, 1) + s.Between(-1, 1) + s.Between(-1, 1)
	}
	return x
}

// band is noise in a few narrow bands: y[n] = x[n] + 2r cos(θ) y[n−1] − r² y[n−2].
func band(s *synth.Synth, n int) []float64 {
	sum := make([]float64, n)
	for range 1 + s.Below(3) {
		f := logarithmic(s, 150, 0.4*s.Rate)
		r := math.Exp(-math.Pi * f * logarithmic(s, 0.02, 0.4) / s.Rate)
		a, y1, y2 := 2*r*math.Cos(2*math.Pi*f/s.Rate), 0.0, 0.0
		for i, v := range white(s, n) {
			y1, y2 = v+a*y1-r*r*y2, y1
			sum[i] += (1 - r) * y1
		}
	}
	return sum
}

// partials is a tone with harmonics. The amplitude of each is that of the one before times fall.
func partials(t, f, fall, rate float64) (y float64) {
	for k, a := 1, 1.0; k <= 12 && float64(k)*f < 0.45*rate; k++ {
		y += a * math.Sin(2*math.Pi*f*float64(k)*t)
		a *= fall
	}
	return y
}

// sweep is a tone whose frequency rises and falls exponentially.
func sweep(s *synth.Synth, n int) []float64 {
	low, high, period := logarithmic(s, 60, 300), logarithmic(s, 600, 0.4*s.Rate), logarithmic(s, 0.5, 8)
	x, phase := make([]float64, n), 0.0
	for i := range x {
		up := 1 - math.Abs(1-2*math.Mod(float64(i)/s.Rate/period, 1))
		phase += 2 * math.Pi * low * math.Pow(high/low, up) / s.Rate
		x[i] = math.Sin(phase)
	}
	return x
}

// siren switches between two pitches, or slides between them.
func siren(s *synth.Synth, n int) []float64 {
	low, ratio, period := logarithmic(s, 400, 900), s.Between(1.1, 1.8), logarithmic(s, 0.3, 3)
	hard, fall := s.Below(2) == 0, s.Between(0, 0.6)
	x, phase := make([]float64, n), 0.0
	for i := range x {
		up := (1 - math.Cos(2*math.Pi*float64(i)/s.Rate/period)) / 2
		if hard {
			up = math.Round(up)
		}
		phase += low * math.Pow(ratio, up) / s.Rate
		x[i] = partials(phase, 1, fall, s.Rate/low/2)
	}
	return x
}

// beeps are tones of a device, with pauses.
func beeps(s *synth.Synth, n int) []float64 {
	f, on, off, fall := logarithmic(s, 300, 3000), logarithmic(s, 0.05, 0.6), logarithmic(s, 0.05, 1), s.Between(0, 0.5)
	x := make([]float64, n)
	for i := range x {
		if t := math.Mod(float64(i)/s.Rate, on+off); t < on {
			x[i] = math.Min(1, math.Min(t, on-t)/0.005) * partials(t, f, fall, s.Rate)
		}
	}
	return x
}

// crackle is short clicks at random times in soft noise.
func crackle(s *synth.Synth, n int) []float64 {
	x, perSecond, pole, y := make([]float64, n), logarithmic(s, 2, 60), s.Between(0, 0.9), 0.0
	for i := range x {
		v := 0.01 * s.Between(-1, 1)
		if s.Between(0, 1) < perSecond/s.Rate {
			v += s.Between(-1, 1)
		}
		y = pole*y + (1-pole)*v // a low-pass filter of one pole
		x[i] = y
	}
	return x
}

// knocks are blows on something that rings briefly: tones that begin one after the other and fade
// away.
func knocks(s *synth.Synth, n int) []float64 {
	x := make([]float64, n)
	for at := 0.0; at*s.Rate < float64(n); at += logarithmic(s, 0.08, 1.5) {
		f, fall, fade, loud := logarithmic(s, 80, 1500), s.Between(0.3, 0.95), logarithmic(s, 0.01, 0.08), s.Between(0.3, 1)
		begin := int(at * s.Rate)
		for i := begin; i < min(n, begin+int(6*fade*s.Rate)); i++ {
			t := float64(i-begin) / s.Rate
			x[i] += loud * math.Min(1, t/0.003) * math.Exp(-t/fade) * partials(t, f, fall, s.Rate)
		}
	}
	return x
}
