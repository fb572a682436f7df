package audio

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

var pairs = [][2]int{
	{44100, 8000}, {48000, 8000}, {16000, 8000}, {11025, 8000}, {96000, 8000}, {44100, 16000}, {22050, 16000}, {3, 2},
	{8000, 16000}, {8000, 44100}, {16000, 22050}, {44100, 48000}, {8000, 8000},
}

func eachPair(t *testing.T, f func(t *testing.T, from, to int)) {
	for _, p := range pairs {
		t.Run(fmt.Sprintf("%d-%d", p[0], p[1]), func(t *testing.T) { f(t, p[0], p[1]) })
	}
}

func mustNew(t testing.TB, from, to int) *Resampler {
	t.Helper()
	return must.Get(NewResampler(from, to))(t)
}

// convert is the whole signal at the new rate.
func convert(t testing.TB, from, to int, x []float32) []float32 {
	r := mustNew(t, from, to)
	return r.Flush(r.Process(nil, x))
}

func noise(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// direct evaluates output k in float64: the sum over all inputs, weighted by a sinc with Kaiser's
// window for 96 dB and a transition from 0.9 to 1 of the lower Nyquist frequency, divided by the
// same sum for a constant.
func direct(x []float32, from, to, k int) float64 {
	low := min(1, float64(to)/float64(from)) // lower rate in samples an input
	half := (96 - 7.95) / (2.285 * 0.1 * math.Pi) / 2
	at := float64(k) * float64(from) / float64(to)
	sum, norm := 0.0, 0.0
	for n := int(at - half/low - 1); n <= int(at+half/low+1); n++ {
		t := (float64(n) - at) * low
		if math.Abs(t) >= half {
			continue
		}
		w := besselIntegral(0.1102 * (96 - 8.7) * math.Sqrt(1-t*t/half/half))
		if t != 0 {
			w *= math.Sin(math.Pi*0.95*t) / (math.Pi * 0.95 * t)
		}
		norm += w
		if n >= 0 && n < len(x) {
			sum += w * float64(x[n])
		}
	}
	return sum / norm
}

// besselIntegral is I0(x) as the mean of exp(x·cos φ) over a turn. 32 angles are exact to 1e-13 for
// x < 10. The two halves of the turn are equal.
func besselIntegral(x float64) float64 {
	sum := math.Exp(x) + math.Exp(-x)
	for _, cos := range cosines {
		sum += 2 * math.Exp(x*cos)
	}
	return sum / 32
}

// cosines of 1/32 … 15/32 of a turn.
var cosines = func() (c [15]float64) {
	for i := range c {
		c[i] = math.Cos(math.Pi * float64(i+1) / 16)
	}
	return c
}()

func TestAgainstTheDirectSum(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to int) {
		if from == to {
			t.Skip("equal rates have no filter")
		}
		r := mustNew(t, from, to)
		x := noise(1, 3*r.ahead)
		want := make([]float64, (len(x)*to+from-1)/from)
		for k := range want {
			want[k] = direct(x, from, to, k)
		}
		vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
			got := r.Flush(r.Process(nil, x))
			for k := range want {
				if math.Abs(float64(got[k])-want[k]) > 1e-6 {
					t.Fatalf("output %d is %v, expected %v", k, got[k], want[k])
				}
			}
		})
	})
}

// tone returns the response to exp(2πift) divided by it, output by output, away from the ends: 1 in
// the passband and 0 in the stopband. Variation comes from aliases and images.
func tone(r *Resampler, from, to int, f float64) []complex128 {
	n := 2*r.ahead + 100 + 2*r.from
	re, im := make([]float32, n), make([]float32, n)
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * f * float64(i) / float64(from))
		re[i], im[i] = float32(cos), float32(sin)
	}
	y, z := r.Flush(r.Process(nil, re)), r.Flush(r.Process(nil, im))
	var gains []complex128
	for k := range y {
		if at := k * from / to; at < r.ahead || at > n-1-r.ahead {
			continue
		}
		w := 2 * math.Pi * f * float64(k) / float64(to)
		gains = append(gains, complex(float64(y[k]), float64(z[k]))*cmplx.Rect(1, -w))
	}
	return gains
}

// farthest returns the largest distance between a gain and want.
func farthest(gains []complex128, want complex128) float64 {
	d := 0.0
	for _, g := range gains {
		d = max(d, cmplx.Abs(g-want))
	}
	return d
}

func mean(z []complex128) complex128 {
	var sum complex128
	for _, v := range z {
		sum += v
	}
	return sum / complex(float64(len(z)), 0)
}

func decibels(x float64) float64 { return 20 * math.Log10(x) }

// Frequencies below 0.9 of the lower Nyquist frequency keep their amplitude and phase.
func TestPassband(t *testing.T) {
	steps := 36
	if vektest.Emulated {
		steps = 6
	}
	eachPair(t, func(t *testing.T, from, to int) {
		r := mustNew(t, from, to)
		worst, ripple := 0.0, 0.0
		for i := range steps + 1 {
			gains := tone(r, from, to, 0.9*float64(i)/float64(steps)*float64(min(from, to))/2)
			worst = max(worst, farthest(gains, 1))
			ripple = max(ripple, math.Abs(decibels(cmplx.Abs(mean(gains)))))
		}
		t.Logf("largest error %.2g, ripple %.2g dB", worst, ripple)
		if worst > 1e-4 || ripple > 0.001 {
			t.Errorf("largest error %.2g, ripple %.2g dB; expected 1e-4, 0.001 dB", worst, ripple)
		}
	})
}

// Frequencies above the new Nyquist frequency are attenuated by at least 90 dB, so that none folds.
func TestStopband(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to int) {
		if from <= to {
			t.Skip("every input frequency is below the new Nyquist frequency")
		}
		r := mustNew(t, from, to)
		edge, end := float64(to)/2, float64(from)/2
		worst := 0.0
		for i := range 25 {
			worst = max(worst, farthest(tone(r, from, to, edge*(1+0.1*float64(i)/24)), 0))    // the side lobes next to the edge
			worst = max(worst, farthest(tone(r, from, to, edge+(end-edge)*float64(i)/24), 0)) // and the rest
		}
		t.Logf("%.1f dB", decibels(worst))
		if decibels(worst) > -90 {
			t.Errorf("stopband at %.1f dB, expected −90", decibels(worst))
		}
	})
}

// Nothing of a signal is left in the one after Flush.
func TestFlushBeginsAnew(t *testing.T) {
	x := noise(5, 3001)
	want := convert(t, 44100, 8000, x)
	r := mustNew(t, 44100, 8000)
	r.Flush(r.Process(nil, noise(6, 12345))) // longer than what is kept of a signal
	if got := r.Flush(r.Process(nil, x)); !slices.Equal(got, want) {
		t.Error("the second signal's outputs depend on the first")
	}
}

// How a signal is cut into chunks changes no bit of the output.
func TestChunking(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		eachPair(t, func(t *testing.T, from, to int) {
			x := noise(7, 12000)
			want := convert(t, from, to, x)
			rng := rand.New(rand.NewPCG(8, 0))
			for _, most := range []int{1, 2, 37, 500, 5000} {
				r := mustNew(t, from, to)
				var got []float32
				for rest := x; len(rest) > 0; {
					n := min(rng.IntN(most+1), len(rest)) // 0 as well
					got, rest = r.Process(got, rest[:n]), rest[n:]
				}
				if got = r.Flush(got); !slices.Equal(got, want) {
					t.Errorf("chunks of up to %d change the outputs", most)
				}
			}
		})
	})
}

func TestResamplerErrors(t *testing.T) {
	tests := []struct {
		from, to int
		message  string
	}{
		{0, 8000, "0 Hz to 8000 Hz"},
		{8000, -1, "expected rates of 1 … 1000000"},
		{1_000_001, 8000, "expected rates of 1 … 1000000"},
		{8000, math.MaxInt, "expected rates of 1 … 1000000"},
		{44101, 8000, "ratio 8000/44101"},
		{1_000_000, 1, "ratio 1/1000000"},
		{1_000_000, 999_999, "MB"},
	}
	for _, tt := range tests {
		_, err := NewResampler(tt.from, tt.to)
		if err == nil || !strings.HasPrefix(err.Error(), "audio: ") || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%d to %d: error %v, expected %q", tt.from, tt.to, err, tt.message)
		}
	}
}

// Any chunks, whose sizes are the bytes, give the count and the bits of one chunk, at any rates.
// To fuzz: go test -fuzz=FuzzChunking -fuzzminimizetime=1s ./audio
func FuzzChunking(f *testing.F) {
	f.Add(uint16(44100), uint16(8000), []byte{1, 0, 255, 30})
	f.Add(uint16(8000), uint16(16000), []byte{7, 7})
	f.Add(uint16(3), uint16(2), []byte{})
	f.Fuzz(func(t *testing.T, from, to uint16, chunks []byte) {
		r, err := NewResampler(int(from), int(to))
		if err != nil || len(r.filters) > 1<<17 {
			return // rejected, or too slow to make thousands of
		}
		n := 0
		for _, c := range chunks {
			n += int(c)
		}
		x := noise(10, n)
		want := r.Flush(r.Process(nil, x))
		if count := (n*int(to) + int(from) - 1) / int(from); len(want) != count {
			t.Fatalf("%d Hz to %d Hz: %d inputs give %d outputs, expected %d", from, to, n, len(want), count)
		}
		var got []float32
		for _, c := range chunks {
			got, x = r.Process(got, x[:c]), x[c:]
		}
		if got = r.Flush(got); !slices.Equal(got, want) {
			t.Fatalf("%d Hz to %d Hz: chunks %v change the outputs", from, to, chunks)
		}
	})
}

// A Resampler that continues from the state of another one gives the same bits, wherever the state
// was taken. Bytes of another ratio, or too few of them, are an error.
func TestResamplerState(t *testing.T) {
	for _, rates := range [][2]int{{8000, 8000}, {16000, 8000}, {8000, 16000}, {44100, 8000}, {11025, 16000}, {192000, 8000}} {
		x := make([]float32, 5000)
		for i := range x {
			x[i] = float32((i*i)%1000)/1000 - 0.5
		}
		convert := func(cut int) []float32 {
			first := must.Get(NewResampler(rates[0], rates[1]))(t)
			second := must.Get(NewResampler(rates[0], rates[1]))(t)
			y := first.Process(nil, x[:cut])
			second.Process(nil, x[:100]) // which RestoreState replaces
			must.Do(t, second.RestoreState(first.AppendState(nil)))
			return second.Flush(second.Process(y, x[cut:]))
		}
		want := convert(0)
		for _, cut := range []int{1, 2, 999, 1024, 2500, 4999, 5000} {
			if !slices.Equal(convert(cut), want) {
				t.Errorf("%v Hz: the state after %d samples changes the output", rates, cut)
			}
		}
	}
	r := must.Get(NewResampler(44100, 8000))(t)
	state := r.AppendState(nil)
	for _, b := range [][]byte{nil, state[:3], state[:len(state)-1], state[:8], append(state, make([]byte, 4*r.width)...), append([]byte{80}, state[1:]...)} {
		must.Fail(t, r.RestoreState(b), "are not the state of a Resampler with the ratio 80/441")
	}
}
