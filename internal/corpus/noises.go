package corpus

import (
	"context"
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// kind is a kind of noise. sound returns n samples, at any level.
type kind struct {
	name  string
	sound func(s *synth.Synth, n int) []float64
}

// kinds are the kinds of noise of each split.
var kinds = map[string][]kind{
	Train: {
		{"white", white}, {"pink", pink}, {"brown", brown}, {"hum", hum}, {"chord", chord}, {"sweep", sweep}, {"crackle", crackle},
		{"wind", wind},
	},
	Test: {{"blue", blue}, {"band", band}, {"murmur", murmur}, {"melody", melody}, {"siren", siren}, {"beeps", beeps}, {"knocks", knocks}},
}

// noiseSeconds is the length of a file of noise.
const noiseSeconds = 30

// Noises writes files of noise: Out/KIND/N.wav, half a minute each.
func Noises(ctx context.Context, o Options, minutes float64) error {
	files, list := int(math.Ceil(minutes*60/noiseSeconds)), kinds[o.Split]
	return each(ctx, files, func(_ context.Context, i int) error {
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

// lowpass is a filter of one pole in place: y[n] = pole·y[n−1] + (1 − pole)·x[n].
func lowpass(x []float64, pole float64) []float64 {
	y := 0.0
	for i, v := range x {
		y = pole*y + (1-pole)*v
		x[i] = y
	}
	return x
}

// pink is noise that falls by about 3 dB per octave: the sum of three low-pass filters of white
// noise, with the poles and weights of P. Kellet's "economy" filter.
func pink(s *synth.Synth, n int) []float64 {
	x := white(s, n)
	var y0, y1, y2 float64
	for i, v := range x {
		y0 = 0.99765*y0 + 0.0990460*v
		y1 = 0.96300*y1 + 0.2965164*v
		y2 = 0.57000*y2 + 1.0526913*v
		x[i] = y0 + y1 + y2 + 0.1848*v
	}
	return x
}

// brown is noise that falls by 6 dB per octave above a random corner frequency.
func brown(s *synth.Synth, n int) []float64 {
	return lowpass(white(s, n), 1-2*math.Pi*logarithmic(s, 15, 150)/s.Rate)
}

// blue is noise that rises by 6 dB per octave.
func blue(s *synth.Synth, n int) []float64 {
	x := white(s, n)
	for i := n - 1; i > 0; i-- {
		x[i] -= x[i-1]
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

// modulate multiplies x by a random envelope between 1 − depth and 1. speed is about the number of
// changes per second.
func modulate(s *synth.Synth, x []float64, speed, depth float64) []float64 {
	from, to := 1.0, 1.0
	next := 0
	length := 1
	for i := range x {
		if i == next {
			length = max(1, int(s.Rate/speed*s.Between(0.4, 0.9)))
			from, to = to, 1-depth*s.Between(0, 1)
			next += length
		}
		t := 1 - float64(next-i)/float64(length)
		x[i] *= from + (to-from)*(1-math.Cos(math.Pi*t))/2
	}
	return x
}

// wind is brown noise that swells.
func wind(s *synth.Synth, n int) []float64 {
	return modulate(s, brown(s, n), s.Between(0.4, 2), 0.95)
}

// murmur is noise in bands that swells as fast as syllables.
func murmur(s *synth.Synth, n int) []float64 {
	return modulate(s, band(s, n), s.Between(3, 7), 1)
}

// partials is a tone with harmonics. The amplitude of each is that of the one before times fall.
func partials(t, f, fall, rate float64) (y float64) {
	for k, a := 1, 1.0; k <= 12 && float64(k)*f < 0.45*rate; k++ {
		y += a * math.Sin(2*math.Pi*f*float64(k)*t)
		a *= fall
	}
	return y
}

// hum is the mains at 50 or 60 Hz with its harmonics, in a little noise.
func hum(s *synth.Synth, n int) []float64 {
	f, fall := []float64{50, 60, 100, 120}[s.Below(4)], s.Between(0.5, 0.95)
	x := lowpass(white(s, n), 0.7)
	for i := range x {
		x[i] = 0.1*x[i] + partials(float64(i)/s.Rate, f, fall, s.Rate)
	}
	return x
}

// chord is a few steady tones.
func chord(s *synth.Synth, n int) []float64 {
	x := make([]float64, n)
	root, fall := logarithmic(s, 80, 800), s.Between(0, 0.7)
	for _, ratio := range [][]float64{{1}, {1, 1.25, 1.5}, {1, 1.2, 1.5}, {1, 1.5, 2, 2.5}, {1, 1.06}}[s.Below(5)] {
		for i := range x {
			x[i] += partials(float64(i)/s.Rate, root*ratio, fall, s.Rate)
		}
	}
	return x
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
	x, perSecond, pole := make([]float64, n), logarithmic(s, 2, 60), s.Between(0, 0.9)
	for i := range x {
		x[i] = 0.01 * s.Between(-1, 1)
		if s.Between(0, 1) < perSecond/s.Rate {
			x[i] += s.Between(-1, 1)
		}
	}
	return lowpass(x, pole)
}

// ringing returns tones that begin one after the other and fade away.
func ringing(s *synth.Synth, n int, next func() (f, fall, fade, wait float64)) []float64 {
	x := make([]float64, n)
	for at := 0.0; at*s.Rate < float64(n); {
		f, fall, fade, wait := next()
		begin := int(at * s.Rate)
		loud := s.Between(0.3, 1)
		for i := begin; i < min(n, begin+int(6*fade*s.Rate)); i++ {
			t := float64(i-begin) / s.Rate
			x[i] += loud * math.Min(1, t/0.003) * math.Exp(-t/fade) * partials(t, f, fall, s.Rate)
		}
		at += wait
	}
	return x
}

// melody is notes of a scale.
func melody(s *synth.Synth, n int) []float64 {
	root, fall, beat := logarithmic(s, 110, 440), s.Between(0.2, 0.8), logarithmic(s, 0.15, 0.5)
	scale := []float64{0, 2, 4, 5, 7, 9, 11, 12, 14, 16}
	return ringing(s, n, func() (float64, float64, float64, float64) {
		f := root * math.Pow(2, scale[s.Below(len(scale))]/12)
		return f, fall, s.Between(0.5, 2) * beat, beat * float64(1+s.Below(3))
	})
}

// knocks are blows on something that rings briefly.
func knocks(s *synth.Synth, n int) []float64 {
	return ringing(s, n, func() (float64, float64, float64, float64) {
		return logarithmic(s, 80, 1500), s.Between(0.3, 0.95), logarithmic(s, 0.01, 0.08), logarithmic(s, 0.08, 1.5)
	})
}
