package figure

import (
	"image"
	"image/color"
	"math"
	"math/cmplx"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// savePNG draws the plane and returns the picture.
func savePNG(t *testing.T, p PolePlane) image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "poles.png")
	must.Do(t, p.Save(path))
	return readPNG(t, path)
}

func TestPolePlane(t *testing.T) {
	img := savePNG(t, PolePlane{Value: "gain [dB]", Columns: 2, Panels: []Poles{
		{Title: "a", Poles: []complex128{0.5, 0.5i, -0.5, 1i}, Value: []float64{-10, math.Inf(1), 30, math.Inf(-1)}},
		{Title: "b", Poles: []complex128{1}}, {Title: "c", Poles: []complex128{0}}}})
	must.Equal(t, img.Bounds().Size(), image.Pt(2*560+180, 2*580), "size")
	strip := image.Rect(2*560, 0, 2*560+180, 580)
	for i, c := range append([]color.RGBA{unbounded}, shades...) {
		if in, all := countIn(img, c, strip), count(img, c); in < 500 || all-in > 60 { // a marker has about 25 pixels
			t.Errorf("colour %d: %d pixels in the key, %d in all", i, in, all)
		}
	}
	if n := count(img, blue); n < 10 {
		t.Errorf("poles without values: %d pixels", n)
	}
}

// A grid of any number of panels is compact.
func TestPolePlaneGrid(t *testing.T) {
	for n := 1; n <= 12; n++ {
		size := savePNG(t, PolePlane{Panels: slices.Repeat([]Poles{{Poles: []complex128{1}}}, n)}).Bounds().Size()
		if ratio := float64(size.X) / float64(size.Y); ratio < 0.6 || ratio > 2 || size.X > 1300 || size.X*size.Y < n*300*300 {
			t.Errorf("%d panels: %v pixels", n, size)
		}
	}
}

// The markers of the poles of eight SSMs do not merge into a band.
func TestPolesApart(t *testing.T) {
	const n = 256
	var poles []complex128
	for i := range n {
		poles = append(poles, cmplx.Rect(0.9875, math.Pi*(float64(i)+0.5)/n))
	}
	img := savePNG(t, PolePlane{Panels: []Poles{{Poles: poles}}})
	if got := spots(img); got < n*9/10 || got > n {
		t.Errorf("%d separate markers for %d poles", got, n)
	}
	few, many := markers(32, 315), markers(4096, 420)
	if few.Color != blue || few.Radius < 3*many.Radius/2 {
		t.Errorf("32 poles have %v, 4096 poles %v", few, many)
	}
	if _, _, _, alpha := many.Color.RGBA(); alpha > 0xa000 {
		t.Errorf("markers that overlap have opacity %x", alpha)
	}
}

// spots counts the connected areas of blue pixels.
func spots(img image.Image) (n int) {
	seen := map[image.Point]bool{}
	bluish := func(p image.Point) bool {
		r, _, b, _ := img.At(p.X, p.Y).RGBA()
		return b > r+0x4000
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			queue := []image.Point{{X: x, Y: y}}
			if seen[queue[0]] || !bluish(queue[0]) {
				continue
			}
			n++
			for len(queue) > 0 {
				p := queue[0]
				queue = queue[1:]
				if seen[p] || !bluish(p) {
					continue
				}
				seen[p] = true
				for _, d := range []image.Point{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}} {
					queue = append(queue, p.Add(d))
				}
			}
		}
	}
	return n
}

// The shades begin at a multiple of 20 dB above the highest finite value, and the last one covers
// all lower values. They keep their order in grey.
func TestPoleScale(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{-55.1, 23.99}, "40, 20, 0, -20, -40, less"},
		{[]float64{-inf, 40, inf}, "unbounded, 60, 40, 20, 0, -20, less"},
		{[]float64{inf}, "unbounded"},
		{nil, ""},
	} {
		var got []string
		if key := (&PolePlane{Panels: []Poles{{Value: c.values}}}).scale().key("H"); key != nil {
			for _, tick := range key.Y.Tick.Marker.Ticks(key.Y.Min, key.Y.Max) {
				got = append(got, tick.Label)
			}
		}
		must.Equal(t, strings.Join(got, ", "), c.want, "%v: key", c.values)
	}
	for v, want := range map[float64]color.RGBA{39: shades[0], 20: shades[0], 19: shades[1], -40: shades[3], -1000: shades[4], -inf: shades[4], inf: unbounded} {
		must.Equal(t, scale{top: 40}.colour(v), want, "colour of %v", v)
	}
	grey := 0.0
	for i, c := range shades {
		y := 0.3*float64(c.R) + 0.59*float64(c.G) + 0.11*float64(c.B)
		if y < grey+10 {
			t.Errorf("shade %d has the grey level %.0f, the one before it %.0f", i, y, grey)
		}
		grey = y
	}
}

// The unit circle is as wide as it is high in any grid, and the highest of two poles covers the
// other.
func TestPolePlaneIsRound(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 1}, {2, 6}} {
		p := PolePlane{Columns: size[1], Panels: slices.Repeat([]Poles{{Poles: []complex128{1}}}, size[0]*size[1])}
		inf := math.Inf(1)
		p.Panels[0] = Poles{Title: "two\nlines", Poles: []complex128{1, 1i, -1, -1i, 0.5i, 0.5i}, Value: []float64{inf, inf, inf, inf, inf, 3}}
		img := savePNG(t, p)
		at := image.Rectangle{}
		side := (img.Bounds().Dx() - 180) / size[1] // of the first panel
		for y := range img.Bounds().Dy() / size[0] {
			for x := range side {
				if color.RGBAModel.Convert(img.At(x, y)) == unbounded {
					at = at.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if w, h := at.Dx(), at.Dy(); w < 150 || max(w-h, h-w) > 2 {
			t.Errorf("%v panels: the circle is %d×%d pixels", size, w, h)
		}
		if x, y := (at.Min.X+at.Max.X)/2, at.Min.Y+at.Dy()/4; color.RGBAModel.Convert(img.At(x, y)) != unbounded {
			t.Errorf("%v panels: colour %v at the highest pole", size, img.At(x, y))
		}
	}
}

// Labels around the circle are fractions of π, or frequencies in Hz.
func TestPoleLabels(t *testing.T) {
	for rate, want := range map[float64]string{0: "0,π/4,π/2,3π/4,π", 8000: "0 Hz,1 kHz,2 kHz,3 kHz,4 kHz", 44100: "5.51 kHz,11 kHz,22.1 kHz", 400: "50 Hz,100 Hz,200 Hz"} {
		path := filepath.Join(t.TempDir(), "poles.svg")
		must.Do(t, (&PolePlane{SampleRate: rate, Panels: []Poles{{Poles: []complex128{1}}}}).Save(path))
		svg := readSVG(t, path)
		for label := range strings.SplitSeq(want, ",") {
			svg.at(label)
		}
	}
}
