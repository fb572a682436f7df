package figure

import (
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// signal returns a smooth random input, its delayed copy, and the copy with a little noise.
func signal(length, delay int) (x, target, output []float32) {
	noise := random.New(1, random.Signal, 0, 0)
	x, target, output = make([]float32, length), make([]float32, length), make([]float32, length)
	a, b := 0.0, 0.0
	for l := 1; l < length; l++ {
		a += 0.6 * (0.9*noise.Normal(uint64(l)) - a)
		b += 0.6 * (a - b)
		x[l] = float32(b)
	}
	for l := range target {
		if l >= delay {
			target[l] = x[l-delay]
		}
		output[l] = target[l] + float32(0.05*noise.Normal(uint64(length+l)))
	}
	return x, target, output
}

func TestDelay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "delay.png")
	x, target, output := signal(1000, 250)
	must.Do(t, Delay(path, Sequence{Input: x, Target: target, Output: output, SampleRate: 4000}))
	img := readPNG(t, path)
	if got := img.Bounds().Size(); got != image.Pt(widthPx, heightPx) {
		t.Errorf("size %v, expected %d×%d", got, widthPx, heightPx)
	}
	for name, c := range map[string]color.RGBA{"input": grey, "target": orange, "output": blue} {
		if n := count(img, c); n < 500 {
			t.Errorf("%s: %d pixels of its colour, expected a line", name, n)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

// The title has the result on the validation set, not that of the sequence.
func TestDelayTitle(t *testing.T) {
	x, target, output := signal(1000, 250)
	for result, want := range map[string]string{"error 3 %": ". Validation set: error 3 %", "": ""} {
		path := filepath.Join(t.TempDir(), "delay.svg")
		must.Do(t, Delay(path, Sequence{Input: x, Target: target, Output: output, SampleRate: 4000, Result: result}))
		readSVG(t, path).at("Delay task: repeat the input 250 samples (62.5 ms) later" + want)
	}
}

// The target that is shown repeats the input that is shown, at any length.
func TestWindow(t *testing.T) {
	for _, c := range []struct{ length, delay int }{{1000, 250}, {4000, 1000}, {40, 10}, {121, 1}, {300, 0}} {
		from, to := window(c.length, c.delay)
		if from < c.delay || to > c.length || to-from != min(delayWindow, c.length-c.delay) {
			t.Errorf("window(%d, %d) = %d, %d", c.length, c.delay, from, to)
		}
		x, target, _ := signal(c.length, c.delay)
		if got := firstNonzero(target) - firstNonzero(x); got != c.delay {
			t.Errorf("delay %d recognised as %d", c.delay, got)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		n      ticks
		lo, hi float64
		want   string
	}{
		{6, 141, 171, "145 150 155 160 165 170"},
		{4, -0.95, 1.3, "-0.5 0 0.5 1"},
		{6, 0, 1200, "0 200 400 600 800 1000 1200"},
		{6, 1, 1, ""},
	} {
		var got []string
		for _, m := range c.n.Ticks(c.lo, c.hi) {
			got = append(got, m.Label)
		}
		must.Equal(t, strings.Join(got, " "), c.want, "ticks in [%v, %v]", c.lo, c.hi)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 250: "250", 1000: "1,000", 1234567: "1,234,567"} {
		must.Equal(t, Thousands(n), want, "Thousands(%d)", n)
	}
}

func TestDelayRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "delay.png")
	x, target, output := signal(100, 10)
	for _, c := range []struct {
		want string
		err  error
	}{
		{"99 output", Delay(path, Sequence{Input: x, Target: target, Output: output[:99], SampleRate: 4000})},
		{"at least 1", Delay(path, Sequence{SampleRate: 4000})},
		{"rate 0 Hz", Delay(path, Sequence{Input: x, Target: target, Output: output})},
		{"nowhere", Delay(filepath.Join(t.TempDir(), "nowhere", "d.png"), Sequence{Input: x, Target: target, Output: output, SampleRate: 4000})},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, expected one with %q", c.err, c.want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a rejected plot was written")
	}
}
