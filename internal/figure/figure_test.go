package figure

import (
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	return must.Get(png.Decode(f))(t)
}

// count returns the number of pixels of a colour.
func count(img image.Image, c color.RGBA) int { return countIn(img, c, img.Bounds()) }

func countIn(img image.Image, c color.RGBA, r image.Rectangle) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

// vector is an SVG with its texts.
type vector struct {
	t     *testing.T
	width float64               // in points
	texts map[string][2]float64 // left end and height above the bottom, in points
}

// readSVG reads a well-formed SVG. Of equal texts it keeps the last.
func readSVG(t *testing.T, path string) vector {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	if !strings.Contains(string(data), "sans-serif") {
		t.Errorf("%s: no alternative to the font", path)
	}
	v := vector{t: t, texts: map[string][2]float64{}}
	var at struct {
		X, Y float64
	}
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := d.Token()
		if err == io.EOF {
			return v
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				value, _ := strconv.ParseFloat(strings.TrimSuffix(a.Value, "pt"), 64)
				switch {
				case token.Name.Local == "svg" && a.Name.Local == "width":
					v.width = value
				case a.Name.Local == "x":
					at.X = value
				case a.Name.Local == "y":
					at.Y = -value
				}
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				v.texts[text] = [2]float64{at.X, at.Y}
			}
		}
	}
}

// at returns the left end of a text.
func (v vector) at(text string) (x, y float64) {
	v.t.Helper()
	at, ok := v.texts[text]
	if !ok {
		v.t.Errorf("no text %q in the plot", text)
	}
	return at[0], at[1]
}

// right returns the x of the right end of a text of a legend.
func (v vector) right(text string) float64 {
	x, _ := v.at(text)
	return x + textWidth(text, 11)
}

func textWidth(text string, size font.Length) float64 {
	face := font.NewCache(liberation.Collection()).Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
	return float64(face.Width(text))
}
