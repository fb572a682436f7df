// Package synth makes artificial sounds and changes sounds: noise, tones, notes, rooms, filters,
// and other speeds. Sounds are functions of a random stream.
package synth

import (
	"math"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// Synth draws sounds at random.
type Synth struct {
	random.Sampler
	Rate float64 // Hz
}

// Between returns a number from low to high.
func (s *Synth) Between(low, high float64) float64 { return low + (high-low)*s.Uniform() }

// Amplitude returns the factor of a gain from low to high decibels.
func (s *Synth) Amplitude(low, high float64) float64 { return math.Pow(10, s.Between(low, high)/20) }

// Chance reports true with probability p.
func (s *Synth) Chance(p float64) bool { return s.Uniform() < p }

// normals is a fast generator of nearly normal numbers of variance 1: sums of the four 16-bit parts
// of SplitMix64 (Steele, Lea and Flood, 2014).
type normals struct{ state uint64 }

// normals returns a generator whose seed is the next draw.
func (s *Synth) normals() normals {
	return normals{s.Bits()}
}

func (n *normals) next() float32 {
	n.state += 0x9E3779B97F4A7C15
	z := n.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	// Each part has the variance (2³²−1)/12.
	const center, scale = 2 * 0xFFFF, 2.6429144e-5 // √(3/(2³²−1))
	sum := int32(z&0xFFFF+z>>16&0xFFFF) + int32(z>>32&0xFFFF+z>>48)
	return float32(sum-center) * scale
}

// Noise fills x with noise of root mean square 1, up to chance. Its spectrum lies between white and
// brown. Every second noise changes in level, by up to 20 dB, several times a second to once in
// seconds.
func (s *Synth) Noise(x []float32) {
	n := s.normals()
	pole := float32(min(1.2*s.Uniform(), 1) * 0.98)
	drive := float32(math.Sqrt(float64(1 - pole*pole)))
	y := n.next()
	for i := range x {
		y = float32(pole*y) + float32(drive*n.next())
		x[i] = y
	}
	if s.Chance(0.5) {
		s.swell(x)
	}
}

// swell changes the level of x over time, and keeps its mean power.
func (s *Synth) swell(x []float32) {
	before := MeanSquare(x)
	depth := s.Between(0, 20)
	step := s.Rate * s.Between(0.1, 1.5) // samples between the levels, which are drawn
	from, to := s.Between(-depth, 0), s.Between(-depth, 0)
	const block = 32
	next := step
	for i := 0; i < len(x); i += block {
		for ; float64(i) >= next; next += step {
			from, to = to, s.Between(-depth, 0)
		}
		g := float32(math.Pow(10, (to+(from-to)*(next-float64(i))/step)/20))
		for k := i; k < min(i+block, len(x)); k++ {
			x[k] *= g
		}
	}
	ScaleTo(x, math.Sqrt(before))
}

// Tones fills x with a few tones with vibrato, of root mean square 1.
func (s *Synth) Tones(x []float32) {
	clear(x)
	const block = 32 // samples of constant frequency
	for range 1 + s.Below(4) {
		f, vibrato, depth := s.Between(60, 0.44*s.Rate), s.Between(0.5, 8), s.Between(0, 0.02)
		amplitude := s.Between(0.2, 1)
		sin, cos := math.Sincos(2 * math.Pi * s.Uniform())
		for i := 0; i < len(x); i += block {
			t := float64(i) / s.Rate
			ds, dc := math.Sincos(2 * math.Pi * f / s.Rate * (1 + depth*math.Sin(2*math.Pi*vibrato*t)))
			for k := i; k < min(i+block, len(x)); k++ {
				sin, cos = sin*dc+cos*ds, cos*dc-sin*ds
				x[k] += float32(amplitude * sin)
			}
		}
	}
	ScaleTo(x, 1)
}

// Notes fills x with decaying notes of a few partials, as of a plucked string, of root mean square
// 1.
func (s *Synth) Notes(x []float32) {
	clear(x)
	for at := 0; at < len(x); at += 1 + int(s.Between(0.08, 0.4)*s.Rate) {
		for range 1 + s.Below(3) {
			f, decay := 110*math.Pow(2, float64(s.Below(37))/12), s.Between(2, 15)
			end := min(len(x), at+int(5/decay*s.Rate)) // −43 dB
			for k := 1; k <= 6 && float64(k)*f < s.Rate/2; k++ {
				// y[i] = 2r·cos(w)·y[i−1] − r²·y[i−2] is a decaying sine.
				w, r := 2*math.Pi*float64(k)*f/s.Rate, math.Exp(-decay/s.Rate)
				a, b := float32(2*r*math.Cos(w)), float32(-r*r)
				y1, y2 := float32(0), float32(-s.Between(0.3, 1)/float64(k)/r*math.Sin(w))
				for i := at; i < end; i++ {
					y := float32(a*y1) + float32(b*y2)
					x[i] += y
					y1, y2 = y, y1
				}
			}
		}
	}
	ScaleTo(x, 1)
}

// Decibels returns the ratio of powers of d decibels.
func Decibels(d float64) float64 { return math.Pow(10, d/10) }

// MeanSquare returns the mean of the squares of x.
func MeanSquare(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum / float64(max(len(x), 1))
}

// ScaleTo scales x to a root mean square. Silence stays silent.
func ScaleTo(x []float32, level float64) {
	if r := math.Sqrt(MeanSquare(x)); r > 0 {
		g := float32(level / r)
		for i := range x {
			x[i] *= g
		}
	}
}

// Biquad is a filter of second order (R. Bristow-Johnson, Cookbook formulae for audio EQ biquad
// filter coefficients).
type Biquad struct{ b0, b1, b2, a1, a2 float64 }

// LowPass and HighPass have their −3 dB point at f in Hz.
func LowPass(f, rate float64) Biquad  { return pass(f, rate, 1) }
func HighPass(f, rate float64) Biquad { return pass(f, rate, -1) }

func pass(f, rate, sign float64) Biquad {
	sin, cos := math.Sincos(2 * math.Pi * f / rate)
	alpha, a0 := sin/math.Sqrt2, 1+sin/math.Sqrt2
	b := (1 - sign*cos) / 2 / a0
	return Biquad{b, 2 * sign * b, b, -2 * cos / a0, (1 - alpha) / a0}
}

// HighShelf raises frequencies well above f Hz by a gain in dB.
func HighShelf(f, gain, rate float64) Biquad {
	sin, cos := math.Sincos(2 * math.Pi * f / rate)
	a := math.Pow(10, gain/40)
	beta := 2 * math.Sqrt(a) * sin / math.Sqrt2
	a0 := (a + 1) - (a-1)*cos + beta
	return Biquad{
		a * ((a + 1) + (a-1)*cos + beta) / a0, -2 * a * ((a - 1) + (a+1)*cos) / a0, a * ((a + 1) + (a-1)*cos - beta) / a0,
		2 * ((a - 1) - (a+1)*cos) / a0, ((a + 1) - (a-1)*cos - beta) / a0,
	}
}

// Apply filters x in place, from a state of silence.
func (f Biquad) Apply(x []float32) {
	var s1, s2 float64
	for i, v := range x {
		in := float64(v)
		y := f.b0*in + s1
		s1 = f.b1*in - f.a1*y + s2 + denormal
		s2 = f.b2*in - f.a2*y
		x[i] = float32(y)
	}
}

// denormal keeps the state of a filter in silence out of the range of slow numbers.
const denormal = 1e-30

// Impulse writes the response of a room to dst: the direct sound, and after 2 to 20 ms noise that
// decays by 60 dB within the reverberation time, in seconds. Direct is the ratio of the energies of
// the direct sound and of the noise in dB.
func (s *Synth) Impulse(dst []float32, seconds, direct float64) {
	n := s.normals()
	start := min(len(dst), max(1, int(s.Between(0.002, 0.02)*s.Rate)))
	clear(dst[:start])
	tail := dst[start:]
	decay := float32(math.Exp(-3 * math.Ln10 / (seconds * s.Rate)))
	g := float32(1)
	for i := range tail {
		tail[i] = g * n.next()
		g *= decay
	}
	if len(tail) > 0 {
		ScaleTo(tail, math.Sqrt(Decibels(-direct)/float64(len(tail))))
	}
	dst[0] = 1
}

// Stretch adds gain times the clip x, faster by the factor speed, to dst from position at on, by
// Catmull–Rom cubic interpolation. Parts outside dst are left out. It returns the position of x's
// end.
func Stretch(dst []float32, at int, x []float32, speed, gain float64) (end int) {
	n := max(1, int(float64(len(x))/speed))
	from, to := max(0, -at), min(n, len(dst)-at)
	get := func(i int) float32 { return x[min(max(i, 0), len(x)-1)] }
	g := float32(gain)
	for i := from; i < to; i++ {
		position := float64(i) * speed
		k := int(position)
		t := float32(position - float64(k))
		var a, b, c, d float32
		if k > 0 && k+2 < len(x) {
			p := x[k-1 : k+3]
			a, b, c, d = p[0], p[1], p[2], p[3]
		} else {
			a, b, c, d = get(k-1), get(k), get(k+1), get(k+2)
		}
		dst[at+i] += g * (b + t/2*(c-a+t*(2*a-5*b+4*c-d+t*(3*(b-c)+d-a))))
	}
	return at + n
}
