package synth

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The response of a room decays by 60 dB in its reverberation time, at the given level below the
// direct sound.
func TestImpulse(t *testing.T) {
	s := Synth{Sampler: random.Sampler{Stream: random.New(1, random.Noise, 0, 0)}, Rate: 16000}
	x := make([]float32, 8000)
	s.Impulse(x, 0.5, 6)
	must.Equal(t, x[0], 1, "direct sound")
	if e := 10 * math.Log10(MeanSquare(x[1:])*7999); math.Abs(e+6) > 0.01 {
		t.Errorf("reverberation of %.2f dB re direct sound, expected -6", e)
	}
	early, late := MeanSquare(x[800:1600]), MeanSquare(x[4000:4800]) // 0.2 s apart
	if d := 10 * math.Log10(early/late); math.Abs(d-24) > 1.5 {
		t.Errorf("decay of %.1f dB in 0.2 s, expected 24", d)
	}
}

// Noise, tones and notes have root mean square 1 and are finite, whatever their length.
func TestSynth(t *testing.T) {
	s := Synth{Sampler: random.Sampler{Stream: random.New(2, random.Noise, 0, 0)}, Rate: 8000}
	for _, n := range []int{1, 2, 33, 20001} {
		for range 20 {
			x := make([]float32, n)
			for name, fill := range map[string]func([]float32){"noise": s.Noise, "tones": s.Tones, "notes": s.Notes} {
				fill(x)
				if r := math.Sqrt(MeanSquare(x)); math.Abs(r-1) > 1e-3 && (name != "noise" || n > 1000 && math.Abs(r-1) > 0.2) {
					t.Errorf("%s of %d samples: level %v, expected 1", name, n, r)
				}
			}
		}
	}
}

// The generator's numbers are independent and nearly normal.
func TestNormals(t *testing.T) {
	s := Synth{Sampler: random.Sampler{Stream: random.New(3, random.Noise, 0, 0)}}
	g := s.normals()
	const n = 400_000
	var sum, squares, lagged, inside, last float64
	for range n {
		v := float64(g.next())
		sum += v
		squares += v * v
		lagged += v * last
		if math.Abs(v) < 1 {
			inside++
		}
		last = v
	}
	if math.Abs(sum/n) > 0.01 || math.Abs(squares/n-1) > 0.01 || math.Abs(lagged/n) > 0.01 || math.Abs(inside/n-0.683) > 0.03 {
		t.Errorf("mean %v, variance %v, correlation %v, share within 1 %v", sum/n, squares/n, lagged/n, inside/n)
	}
}

// The noise of a stream lies between white and brown.
func TestSpectrumOfNoise(t *testing.T) {
	s := Synth{Sampler: random.Sampler{Stream: random.New(4, random.Noise, 0, 0)}, Rate: 8000}
	lowest, highest := 1.0, -1.0
	x := make([]float32, 20001)
	for range 50 {
		s.Noise(x)
		sum := 0.0
		for i, v := range x[1:] {
			sum += float64(v) * float64(x[i])
		}
		pole := sum / (MeanSquare(x) * float64(len(x)))
		lowest, highest = min(lowest, pole), max(highest, pole)
	}
	if lowest > 0.15 || highest < 0.93 {
		t.Errorf("neighbours correlate by %.2f … %.2f, expected about 0 … 0.98", lowest, highest)
	}
}

// Filters pass and stop what their names say.
func TestBiquads(t *testing.T) {
	const rate = 8000
	gain := func(f Biquad, hz float64) float64 { // dB
		x := make([]float32, 8000)
		for i := range x {
			x[i] = float32(math.Sin(2 * math.Pi * hz * float64(i) / rate))
		}
		f.Apply(x)
		return 10 * math.Log10(2*MeanSquare(x[4000:]))
	}
	for _, c := range []struct {
		name      string
		f         Biquad
		hz, want  float64
		tolerance float64
	}{
		{"low pass at its bound", LowPass(1000, rate), 1000, -3, 0.1},
		{"low pass below it", LowPass(1000, rate), 100, 0, 0.1},
		{"low pass two octaves above it", LowPass(200, rate), 800, -24, 1},
		{"high pass at its bound", HighPass(300, rate), 300, -3, 0.1},
		{"high pass above it", HighPass(300, rate), 3000, 0, 0.1},
		{"high pass two octaves below it", HighPass(400, rate), 100, -24, 1},
		{"shelf above", HighShelf(500, 9, rate), 3900, 9, 0.2},
		{"shelf below", HighShelf(1000, -9, rate), 50, 0, 0.2},
	} {
		if g := gain(c.f, c.hz); math.Abs(g-c.want) > c.tolerance {
			t.Errorf("%s: %.2f dB, expected %.1f", c.name, g, c.want)
		}
	}
}

// A stretched tone has another frequency and another length. What is outside the target is left
// out.
func TestStretch(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 0.05 * float64(i)))
	}
	for _, speed := range []float64{1, 1.1, 0.85} {
		y := make([]float32, 1500)
		if end := Stretch(y, 20, x, speed, 2); end != 20+int(1000/speed) || y[19] != 0 || y[end] != 0 {
			t.Errorf("speed %v: the end is %d", speed, end)
		}
		for i := 2; i < int(1000/speed)-4; i++ {
			if want := 2 * math.Sin(2*math.Pi*0.05*float64(i)*speed); math.Abs(float64(y[20+i])-want) > 4e-3 {
				t.Fatalf("speed %v, sample %d: %v, expected %v", speed, i, y[20+i], want)
			}
		}
		part := make([]float32, 100)
		must.Equal(t, Stretch(part, -480, x, speed, 2), -480+int(1000/speed), "end of what begins before the target")
		for i, v := range part {
			if v != y[500+i] {
				t.Fatalf("speed %v: sample %d of a part is %v, expected %v", speed, i, v, y[500+i])
			}
		}
		must.Equal(t, Stretch(part, 200, x, speed, 1), 200+int(1000/speed), "end of what begins after the target")
	}
}
