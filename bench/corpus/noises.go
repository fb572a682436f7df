package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
)

// kind is a kind of noise. sound returns n samples at a rate in Hz, at any level.
type kind struct {
	name  string
	sound func(d *dice, n int, rate float64) []float64
}

// kinds are the kinds of noise of each set.
var kinds = map[string][]kind{
	train: {
		{"white", white}, {"pink", pink}, {"brown", brown}, {"hum", hum}, {"chord", chord}, {"sweep", sweep}, {"crackle", crackle},
		{"wind", wind},
	},
	test: {{"blue", blue}, {"band", band}, {"murmur", murmur}, {"melody", melody}, {"siren", siren}, {"beeps", beeps}, {"knocks", knocks}},
}

// noiseSeconds is the length of a file of noise.
const noiseSeconds = 30

// noises writes files of noise. Each file has one kind of noise, in sections of 3 to 8 s. The level
// of a section is between −50 and −14 dB relative to full scale.
func noises(ctx context.Context, o options, w io.Writer) error {
	files, list := int(math.Ceil(o.minutes*60/noiseSeconds)), kinds[o.set]
	err := o.parallel(ctx, files, func(_ context.Context, i int) error {
		k := list[i%len(list)]
		return o.make(filepath.Join(o.out, k.name, fmt.Sprintf("%d.wav", i)), func() ([]float32, error) {
			return k.file(o.dice(ofNoise, i), o.rate), nil
		})
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d files of %d s in %s\n", files, noiseSeconds, o.out)
	return err
}

// file returns the sound of a file.
func (k kind) file(d *dice, rate int) []float32 {
	x := make([]float32, 0, noiseSeconds*rate)
	for len(x) < cap(x) {
		n := min(int(d.between(3, 8)*float64(rate)), cap(x)-len(x))
		y := k.sound(d, n, float64(rate))
		square, peak := 0.0, 0.0
		for _, v := range y {
			square += v * v
			peak = max(peak, math.Abs(v))
		}
		level := math.Pow(10, d.between(-50, -14)/20)
		gain := min(level/(math.Sqrt(square/float64(n))+1e-9), 0.9/(peak+1e-9))
		for i, v := range y {
			edge := float64(min(i, n-1-i)) / (0.02 * float64(rate)) // of 20 ms
			x = append(x, float32(gain*v*min(1, edge)))
		}
	}
	return x
}

// fill returns n samples of a function of the time in seconds.
func fill(n int, rate float64, f func(t float64) float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f(float64(i) / rate)
	}
	return x
}

// log draws from [low, high) with a uniform logarithm.
func (d *dice) log(low, high float64) float64 { return low * math.Pow(high/low, d.between(0, 1)) }

// white is noise with the same power at all frequencies.
func white(d *dice, n int, _ float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		// The sum of three uniform variables is close enough to a normal one.
		x[i] = d.between(-1, 1) + d.between(-1, 1) + d.between(-1, 1)
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
func pink(d *dice, n int, rate float64) []float64 {
	x := white(d, n, rate)
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
func brown(d *dice, n int, rate float64) []float64 {
	return lowpass(white(d, n, rate), 1-2*math.Pi*d.log(15, 150)/rate)
}

// blue is noise that rises by 6 dB per octave.
func blue(d *dice, n int, rate float64) []float64 {
	x := white(d, n, rate)
	for i := n - 1; i > 0; i-- {
		x[i] -= x[i-1]
	}
	return x
}

// band is noise in a few narrow bands: y[n] = x[n] + 2r cos(θ) y[n−1] − r² y[n−2].
func band(d *dice, n int, rate float64) []float64 {
	sum := make([]float64, n)
	for range 1 + d.below(3) {
		f := d.log(150, 0.4*rate)
		r := math.Exp(-math.Pi * f * d.log(0.02, 0.4) / rate)
		a, y1, y2 := 2*r*math.Cos(2*math.Pi*f/rate), 0.0, 0.0
		for i, v := range white(d, n, rate) {
			y1, y2 = v+a*y1-r*r*y2, y1
			sum[i] += (1 - r) * y1
		}
	}
	return sum
}

// modulate multiplies x by a random envelope between 1 − depth and 1. speed is about the number of
// changes per second.
func modulate(d *dice, x []float64, rate, speed, depth float64) []float64 {
	from, to := 1.0, 1.0
	next := 0
	length := 1
	for i := range x {
		if i == next {
			length = max(1, int(rate/speed*d.between(0.4, 0.9)))
			from, to = to, 1-depth*d.between(0, 1)
			next += length
		}
		t := 1 - float64(next-i)/float64(length)
		x[i] *= from + (to-from)*(1-math.Cos(math.Pi*t))/2
	}
	return x
}

// wind is brown noise that swells.
func wind(d *dice, n int, rate float64) []float64 {
	return modulate(d, brown(d, n, rate), rate, d.between(0.4, 2), 0.95)
}

// murmur is noise in bands that swells as fast as syllables.
func murmur(d *dice, n int, rate float64) []float64 {
	return modulate(d, band(d, n, rate), rate, d.between(3, 7), 1)
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
func hum(d *dice, n int, rate float64) []float64 {
	f, fall := []float64{50, 60, 100, 120}[d.below(4)], d.between(0.5, 0.95)
	x := lowpass(white(d, n, rate), 0.7)
	for i := range x {
		x[i] = 0.1*x[i] + partials(float64(i)/rate, f, fall, rate)
	}
	return x
}

// chord is a few steady tones.
func chord(d *dice, n int, rate float64) []float64 {
	x := make([]float64, n)
	root, fall := d.log(80, 800), d.between(0, 0.7)
	for _, ratio := range [][]float64{{1}, {1, 1.25, 1.5}, {1, 1.2, 1.5}, {1, 1.5, 2, 2.5}, {1, 1.06}}[d.below(5)] {
		for i := range x {
			x[i] += partials(float64(i)/rate, root*ratio, fall, rate)
		}
	}
	return x
}

// sweep is a tone whose frequency rises and falls exponentially.
func sweep(d *dice, n int, rate float64) []float64 {
	low, high, period := d.log(60, 300), d.log(600, 0.4*rate), d.log(0.5, 8)
	phase := 0.0
	return fill(n, rate, func(t float64) float64 {
		up := 1 - math.Abs(1-2*math.Mod(t/period, 1))
		phase += 2 * math.Pi * low * math.Pow(high/low, up) / rate
		return math.Sin(phase)
	})
}

// siren switches between two pitches, or slides between them.
func siren(d *dice, n int, rate float64) []float64 {
	low, ratio, period, hard, fall := d.log(400, 900), d.between(1.1, 1.8), d.log(0.3, 3), d.below(2) == 0, d.between(0, 0.6)
	phase := 0.0
	return fill(n, rate, func(t float64) float64 {
		up := (1 - math.Cos(2*math.Pi*t/period)) / 2
		if hard {
			up = math.Round(up)
		}
		phase += low * math.Pow(ratio, up) / rate
		return partials(phase, 1, fall, rate/low/2)
	})
}

// crackle is short clicks at random times in soft noise.
func crackle(d *dice, n int, rate float64) []float64 {
	x, perSecond, pole := make([]float64, n), d.log(2, 60), d.between(0, 0.9)
	for i := range x {
		x[i] = 0.01 * d.between(-1, 1)
		if d.between(0, 1) < perSecond/rate {
			x[i] += d.between(-1, 1)
		}
	}
	return lowpass(x, pole)
}

// ringing returns tones that begin one after the other and fade away.
func ringing(d *dice, n int, rate float64, next func() (f, fall, fade, wait float64)) []float64 {
	x := make([]float64, n)
	for at := 0.0; at*rate < float64(n); {
		f, fall, fade, wait := next()
		begin := int(at * rate)
		loud := d.between(0.3, 1)
		for i := begin; i < min(n, begin+int(6*fade*rate)); i++ {
			t := float64(i-begin) / rate
			x[i] += loud * math.Min(1, t/0.003) * math.Exp(-t/fade) * partials(t, f, fall, rate)
		}
		at += wait
	}
	return x
}

// melody is notes of a scale.
func melody(d *dice, n int, rate float64) []float64 {
	root, fall, beat := d.log(110, 440), d.between(0.2, 0.8), d.log(0.15, 0.5)
	scale := []float64{0, 2, 4, 5, 7, 9, 11, 12, 14, 16}
	return ringing(d, n, rate, func() (float64, float64, float64, float64) {
		f := root * math.Pow(2, scale[d.below(len(scale))]/12)
		return f, fall, d.between(0.5, 2) * beat, beat * float64(1+d.below(3))
	})
}

// knocks are blows on something that rings briefly.
func knocks(d *dice, n int, rate float64) []float64 {
	return ringing(d, n, rate, func() (float64, float64, float64, float64) {
		return d.log(80, 1500), d.between(0.3, 0.95), d.log(0.01, 0.08), d.log(0.08, 1.5)
	})
}

// beeps are tones of a device, with pauses.
func beeps(d *dice, n int, rate float64) []float64 {
	f, on, off, fall := d.log(300, 3000), d.log(0.05, 0.6), d.log(0.05, 1), d.between(0, 0.5)
	return fill(n, rate, func(t float64) float64 {
		if t = math.Mod(t, on+off); t >= on {
			return 0
		}
		return math.Min(1, math.Min(t, on-t)/0.005) * partials(t, f, fall, rate)
	})
}
