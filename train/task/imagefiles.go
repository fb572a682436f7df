package task

import (
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // decoders of the formats that image folders have
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// readImageFolder reads dir/CLASS/*.png or *.jpg. Classes and files are in alphabetical order.
func readImageFolder(ctx context.Context, dir string, side, channels int, src Source) (*rawImages, error) {
	classes, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	images := &rawImages{channels: channels}
	for _, c := range classes {
		if strings.HasPrefix(c.Name(), ".") {
			continue
		}
		inner := filepath.Join(dir, c.Name())
		if isFolder, err := datafile.IsFolder(inner); err != nil {
			return nil, err
		} else if !isFolder {
			continue
		}
		files, err := os.ReadDir(inner)
		if err != nil {
			return nil, err
		}
		if len(images.classes) == 256 {
			return nil, fmt.Errorf("%s contains more than 256 classes, the limit", dir)
		}
		for _, f := range files {
			if ext := strings.ToLower(filepath.Ext(f.Name())); slices.Contains([]string{".png", ".jpg", ".jpeg"}, ext) && f.Name()[0] != '.' {
				images.paths = append(images.paths, filepath.Join(inner, f.Name()))
				images.labels = append(images.labels, uint8(len(images.classes)))
			}
		}
		images.classes = append(images.classes, c.Name())
	}
	if len(images.paths) == 0 {
		return nil, datafile.NoData("%s contains no .png or .jpg files in one folder per class", dir)
	}
	for i, path := range images.paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := images.readImage(path, side); err != nil {
			return nil, err
		}
		src.progress(i+1, len(images.paths))
	}
	return images, nil
}

// readImage appends the pixels of an image file. Errors name the file.
func (r *rawImages) readImage(path string, side int) error {
	return datafile.Parse(path, func(in io.Reader) error { return r.decode(in, side) })
}

// decode appends the pixels of an encoded image.
func (r *rawImages) decode(in io.Reader, side int) error {
	img, _, err := image.Decode(in)
	if err != nil {
		return err
	}
	b := img.Bounds()
	if b.Dx() != side || b.Dy() != side {
		return fmt.Errorf("%d×%d pixels, expected %d×%d", b.Dx(), b.Dy(), side, side)
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, green, blue, _ := img.At(x, y).RGBA()
			r.addPixel(byte(red>>8), byte(green>>8), byte(blue>>8))
		}
	}
	return nil
}
