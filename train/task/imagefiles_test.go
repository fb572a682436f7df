package task

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// pictures returns an image of 4×4 pixels in each format and colour model.
func pictures(t testing.TB) [][]byte {
	t.Helper()
	area := image.Rect(0, 0, 4, 4)
	rgb, gray, palette := image.NewNRGBA(area), image.NewGray16(area), image.NewPaletted(area, color.Palette{color.Black, color.White})
	for i := range rgb.Pix {
		rgb.Pix[i] = byte(37 * i)
	}
	gray.Pix[5], palette.Pix[3] = 200, 1
	var files [][]byte
	for _, m := range []image.Image{rgb, gray, palette} {
		var p, j bytes.Buffer
		must.Do(t, png.Encode(&p, m))
		must.Do(t, jpeg.Encode(&j, m, nil))
		files = append(files, p.Bytes(), j.Bytes())
	}
	return files
}

// What is accepted has the announced size, and its pixels are the same after they were written as a
// PNG file and read again. A file that announces another size costs little memory.
func FuzzImage(f *testing.F) {
	for _, file := range pictures(f) {
		f.Add(file, true)
		f.Add(file, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, colour bool) {
		const side = 4
		r := &rawImages{channels: 1}
		if colour {
			r.channels = 3
		}
		if r.decode(bytes.NewReader(data), side) != nil {
			return
		}
		if len(r.pixels) != side*side*r.channels {
			t.Fatalf("%d values of %d pixels", len(r.pixels), side*side)
		}
		m := image.NewNRGBA(image.Rect(0, 0, side, side))
		for i := range side * side {
			p := r.pixels[i*r.channels:]
			m.Set(i%side, i/side, color.NRGBA{p[0], p[r.channels/2], p[r.channels-1], 255})
		}
		var again bytes.Buffer
		must.Do(t, png.Encode(&again, m))
		copied := &rawImages{channels: r.channels}
		must.Do(t, copied.decode(&again, side))
		if !bytes.Equal(copied.pixels, r.pixels) {
			t.Errorf("pixels %v, expected %v", copied.pixels, r.pixels)
		}
	})
}
