package filterbank_test

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/internal/vektest"
)

func bank(t testing.TB, c filterbank.Config) *filterbank.Bank {
	t.Helper()
	return must.Get(filterbank.New(c))(t)
}

// configs returns filter banks with several rates, lengths, hops and compressions.
func configs() []filterbank.Config {
	slow := filterbank.Default(8000)
	slow.Compression = filterbank.Log
	return []filterbank.Config{
		slow, filterbank.Default(16000), filterbank.Default(11025),
		{SampleRate: 1000, Window: 64, Hop: 64, Bands: 3, Low: 0, High: 500, Compression: filterbank.PCEN},
		{SampleRate: 100, Window: 4, Hop: 1, Bands: 1, Low: 0, High: 50, Compression: filterbank.Log},
		{SampleRate: 100, Window: 7, Hop: 3, Bands: 2, Low: 5, High: 50, Compression: filterbank.Log},
	}
}

// sound returns noise with a tone that begins in the middle, after n/5 samples of silence.
func sound(n int, rate float64) []float32 {
	noise, x := random.New(1, random.Noise, 0, 0), make([]float32, n)
	for i := n / 5; i < n; i++ {
		x[i] = float32(0.01 * noise.Normal(uint64(i)))
		if i > n/2 {
			x[i] += float32(0.5 * math.Sin(2*math.Pi*0.11*float64(i)))
		}
	}
	return x
}

// naive returns the frames [frames][Bands] by the formulas of docs/maths.md §11 in float64.
func naive(c filterbank.Config, x []float32) (frames []float64) {
	n := 1
	for n < c.Window {
		n *= 2
	}
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	spacing := (mel(c.High) - mel(c.Low)) / float64(c.Bands+1)
	smooth := make([]float64, c.Bands)
	for k := range len(x) / c.Hop {
		z, mean, squares := make([]complex128, n), 0.0, 0.0
		at := func(j int) float64 {
			if i := (k+1)*c.Hop - c.Window + j; i >= 0 {
				return float64(x[i])
			}
			return 0
		}
		for j := range c.Window {
			mean += at(j) / float64(c.Window)
		}
		for j := range c.Window {
			w := 0.5 * (1 - math.Cos(2*math.Pi*float64(j)/float64(c.Window)))
			squares += w * w
			z[j] = complex(w*(at(j)-mean), 0)
		}
		power := make([]float64, n/2+1)
		for p := range power {
			sum := 0i
			for j, v := range z[:c.Window] {
				sum += v * cmplx.Rect(1, -2*math.Pi*float64(p*j%n)/float64(n))
			}
			power[p] = 2 * real(sum*cmplx.Conj(sum)) / (float64(n) * squares)
		}
		for b := range c.Bands {
			e := 0.0
			for p, v := range power {
				f := float64(p) * c.SampleRate / float64(n)
				e += v * max(0, 1-math.Abs((mel(f)-mel(c.Low))/spacing-float64(b+1)))
			}
			if c.Compression == filterbank.Log {
				frames = append(frames, math.Log(e+1e-8))
				continue
			}
			s := 1 - math.Exp(-float64(c.Hop)/(0.4*c.SampleRate))
			if k == 0 {
				smooth[b] = e
			}
			smooth[b] = (1-s)*smooth[b] + s*e
			frames = append(frames, math.Log(1+e/(0.1*(1e-8+smooth[b]))))
		}
	}
	return frames
}

// The frames are those of the formulas, at every level.
func TestFrames(t *testing.T) {
	vektest.EachLevel(t, func(t *testing.T, _ vek.Level) {
		for _, c := range configs() {
			x := sound(60*c.Hop+c.Hop/2, c.SampleRate)
			got, want := bank(t, c).NewStream().Process(nil, x), naive(c, x)
			must.Equal(t, len(got), c.Frames(len(x))*c.Bands, "%+v: values", c)
			for i, v := range want {
				if math.Abs(float64(got[i])-v) > 2e-4*(1+math.Abs(v)) {
					t.Fatalf("%+v: frame %d, band %d: got %g, expected %g", c, i/c.Bands, i%c.Bands, got[i], v)
				}
			}
		}
	})
}

// No split into chunks changes a bit, and Frames transposes the same bits.
func TestChunks(t *testing.T) {
	for _, c := range configs() {
		b, x := bank(t, c), sound(50*c.Hop+c.Hop-1, c.SampleRate)
		whole := b.Frames([]float32{7, 7}, x)
		n := c.Frames(len(x))
		for _, size := range []int{1, 3, c.Hop, c.Hop + 1, 5*c.Window + 1, len(x)} {
			s := b.NewStream()
			s.Process(nil, x[:len(x)/3])
			s.Reset()
			frames := []float32{1, 2}
			for part := range slices.Chunk(x, size) {
				frames = s.Process(frames, part)
			}
			must.Equal(t, len(frames), 2+len(whole), "%+v: values in chunks of %d", c, size)
			for i, v := range frames[2:] {
				if frame, band := i/c.Bands, i%c.Bands; v != whole[band*n+frame] {
					t.Fatalf("%+v: chunks of %d: frame %d, band %d: got %g, expected %g", c, size, frame, band, v, whole[band*n+frame])
				}
			}
		}
		must.Equal(t, len(b.Frames(nil, x[:c.Hop-1])), 0, "values of an incomplete frame")
	}
}

// A frame depends on its window only: on no earlier and on no later sample.
func TestWindow(t *testing.T) {
	c := filterbank.Default(8000)
	c.Compression = filterbank.Log
	b, x := bank(t, c), sound(20*c.Hop, c.SampleRate)
	before := b.NewStream().Process(nil, x)
	at := 10*c.Hop + 70 // in the windows of frames 10 and 11
	x[at]++
	for k, after := 0, b.NewStream().Process(nil, x); k < 20; k++ {
		equal := slices.Equal(before[k*c.Bands:][:c.Bands], after[k*c.Bands:][:c.Bands])
		covered := (k+1)*c.Hop > at && (k+1)*c.Hop-c.Window <= at
		must.Equal(t, equal, !covered, "frame %d is unchanged", k)
	}
}

// The energies of all bands of white noise add up to about its mean square, a tone is in the band
// of its frequency, and a constant changes nothing.
func TestEnergy(t *testing.T) {
	c := filterbank.Config{SampleRate: 16000, Window: 400, Hop: 160, Bands: 40, Low: 0, High: 8000, Compression: filterbank.Log}
	b, noise := bank(t, c), random.New(2, random.Noise, 0, 0)
	x := make([]float32, 400*c.Hop)
	for i := range x {
		x[i] = float32(0.1 * noise.Normal(uint64(i)))
	}
	sum := 0.0
	for _, v := range b.Frames(nil, x) {
		sum += math.Exp(float64(v)) / 400
	}
	if math.Abs(sum/0.01-1) > 0.05 {
		t.Errorf("noise of mean square 0.01 has the energy %g", sum)
	}

	shifted := slices.Clone(x)
	for i := range x {
		shifted[i] += 0.5
	}
	from := 3 * c.Bands // the first windows cover the step
	plain, offset := b.NewStream().Process(nil, x)[from:], b.NewStream().Process(nil, shifted)[from:]
	for i, v := range plain {
		if math.Abs(float64(offset[i]-v)) > 1e-3 {
			t.Fatalf("a constant changes value %d from %g to %g", i, v, offset[i])
		}
	}

	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / c.SampleRate))
	}
	frame := b.NewStream().Process(nil, x)[from : from+c.Bands]
	// 1000 Hz is 1000 mel, and the bands' centres are 2840/41 mel apart.
	must.Equal(t, slices.Index(frame, slices.Max(frame)), 13, "band of a tone of 1000 Hz in %v", frame)
}

// PCEN gives the same frames, of values up to 4, at any gain, once the smoothed energy M has
// settled. Only Floor makes a difference, of about Floor/M. Gains are powers of two, so that the
// energies have the same rounding.
func TestGain(t *testing.T) {
	c := filterbank.Default(16000)
	b, x := bank(t, c), sound(200*c.Hop, c.SampleRate)
	for i := range x {
		x[i] *= 16
	}
	want := b.NewStream().Process(nil, x)[60*c.Bands:]
	for gain, tolerance := range map[float32]float64{1. / 16: 0.03, 16: 2e-4, 1024: 2e-4} {
		worst := 0.0
		scaled := slices.Clone(x)
		for i := range scaled {
			scaled[i] *= gain
		}
		for i, v := range b.NewStream().Process(nil, scaled)[60*c.Bands:] {
			worst = max(worst, math.Abs(float64(v-want[i])))
		}
		if worst > tolerance {
			t.Errorf("gain %g changes a value by %g, expected at most %g", gain, worst, tolerance)
		}
	}
}

// After silence of hours the smoothed energy is 0 and not a denormal number, and sound continues.
func TestSilence(t *testing.T) {
	c := filterbank.Config{SampleRate: 1000, Window: 100, Hop: 100, Bands: 3, Low: 0, High: 500, Compression: filterbank.PCEN}
	s, x := bank(t, c).NewStream(), sound(1000, c.SampleRate)
	s.Process(nil, x)
	for _, v := range s.Process(nil, make([]float32, 100_000)) {
		if v-v != 0 || v < 0 {
			t.Fatalf("value %g in silence", v)
		}
	}
	after, fresh := s.AppendState(nil), bank(t, c).NewStream()
	fresh.Process(nil, make([]float32, 101_000))
	must.Equal(t, string(after), string(fresh.AppendState(nil)), "state after silence")
}

func TestValidate(t *testing.T) {
	for _, rate := range []float64{8000, 11025, 16000, 22050, 44100, 48000} {
		c := filterbank.Default(rate)
		must.Do(t, c.Validate())
		if r := c.FrameRate(); math.Abs(r-50) > 0.2 {
			t.Errorf("%g Hz: %g frames per second", rate, r)
		}
	}
	for want, change := range map[string]func(c *filterbank.Config){
		"sample_rate 0: expected 100 … 1e+06 Hz": func(c *filterbank.Config) { c.SampleRate = 0 },
		"sample_rate NaN":                        func(c *filterbank.Config) { c.SampleRate = math.NaN() },
		"window 3: expected 4 … 65536 samples":   func(c *filterbank.Config) { c.Window = 3 },
		"window 65537":                           func(c *filterbank.Config) { c.Window = 65537 },
		"hop 0: expected 1 … 256 samples":        func(c *filterbank.Config) { c.Hop = 0 },
		"hop 257":                                func(c *filterbank.Config) { c.Hop = 257 },
		"bands 0: expected 1 … 1024":             func(c *filterbank.Config) { c.Bands = 0 },
		"bands 1025":                             func(c *filterbank.Config) { c.Bands = 1025 },
		"low -1":                                 func(c *filterbank.Config) { c.Low = -1 },
		"low 3800":                               func(c *filterbank.Config) { c.Low = c.High },
		"high 4001: expected at most 4000":       func(c *filterbank.Config) { c.High = 4001 },
		"low 60: expected at least 0 and less than high, NaN Hz":              func(c *filterbank.Config) { c.High = math.NaN() },
		`compression "": expected "log" or "pcen"`:                            func(c *filterbank.Config) { c.Compression = "" },
		"bands 113: band 3, 96.4 … 121.7 Hz, contains no multiple of 31.2 Hz": func(c *filterbank.Config) { c.Bands = 113 },
	} {
		c := filterbank.Default(8000)
		change(&c)
		must.Fail(t, c.Validate(), "filterbank: "+want)
		must.Reject(filterbank.New(c))(t, "filterbank: "+want)
	}
}

// A Stream that continues from the state of another one gives the same bits, wherever the state was
// taken.
func TestState(t *testing.T) {
	for _, c := range configs() {
		b, x := bank(t, c), sound(20*c.Window, c.SampleRate)
		want := b.NewStream().Process(nil, x)
		for _, cut := range []int{0, 1, c.Hop - 1, c.Hop, c.Window, 2*c.Window + 1, 7 * c.Window, len(x)} {
			first, second := b.NewStream(), b.NewStream()
			y := first.Process(nil, x[:cut])
			second.Process(nil, x[:c.Window/2]) // which RestoreState replaces
			must.Do(t, second.RestoreState(first.AppendState(nil)))
			if !slices.Equal(second.Process(y, x[cut:]), want) {
				t.Errorf("%+v: the state after %d samples changes the frames", c, cut)
			}
			must.Fail(t, second.RestoreState(make([]byte, 5)), "filterbank: 5 bytes are not the state")
		}
	}
}
