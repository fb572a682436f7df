package task

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	for name, side := range map[string]int{"pathfinder": 32, "pathx128": 128, "pathx256": 256} {
		register(Task{
			name:   name,
			source: pathfinderSource, imageWidth: side, options: noOptions(pathfinder(side)),
		})
	}
}

const pathfinderSource = "LRA's Pathfinder is published as storage.googleapis.com/long-range/lra_release.gz, named by github.com/google-research/long-range-arena: " +
	"pass its folder lra_release, or one of the folders pathfinder32, pathfinder128 and pathfinder256 in it; `s4d-fast data pathfinder` generates such files"

// pathfinderLevel is the folder of the hardest images, on which results are published: contours of
// 14 dashes.
const pathfinderLevel = "curv_contour_length_14"

// pathfinderLabels says whether the circles are at ends of two contours or of one.
var pathfinderLabels = []string{"disconnected", "connected"}

// pathfinder loads LRA's Pathfinder at 32×32 pixels, or its Path-X at 128×128 or 256×256, as
// sequences of pixels, row after row (docs/maths.md §5.4). PyTorch's random_split with seed 42
// selects a tenth of the images as the validation set and a tenth as the test set. Images are read
// when they are needed: at 256×256 they take 13 GB.
func pathfinder(side int) func(context.Context, Source) (*dataset.Dataset, error) {
	return func(ctx context.Context, src Source) (*dataset.Dataset, error) {
		files, err := readPathfinder(src.Dir, side)
		if err != nil {
			return nil, err
		}
		if err := files.check(ctx, src, side); err != nil {
			return nil, err
		}
		d := &dataset.Dataset{Info: dataset.Info{
			Channels: 1, Outputs: len(pathfinderLabels), Labels: pathfinderLabels, MaxLen: side * side,
		}}
		n := len(files.paths)
		parts := dataset.RandomSplit(imageSeed, n-2*(n/10), n/10, n/10)
		for part, dst := range splits(d) {
			if src.includes(part) && len(parts[0]) > 0 {
				*dst = &imageSet{images: files, members: parts[0], side: side}
			}
			parts = parts[1:]
		}
		if d.Train != nil { // [0, 1] becomes [−1, 1]
			d.Mean, d.Std = []float32{0.5}, []float32{0.5}
		}
		return d, nil
	}
}

// readPathfinder reads the metadata files of the images of a size, in the order of their numbers.
func readPathfinder(dir string, side int) (*rawImages, error) {
	level, err := pathfinderFolder(dir, side)
	if err != nil {
		return nil, err
	}
	metadata, err := os.ReadDir(filepath.Join(level, "metadata"))
	if err != nil {
		return nil, err
	}
	numbers := map[string]int{}
	var names []string
	for _, f := range metadata {
		stem, ok := strings.CutSuffix(f.Name(), ".npy")
		if !ok || strings.HasPrefix(stem, ".") {
			continue
		}
		if numbers[f.Name()], err = strconv.Atoi(stem); err != nil {
			return nil, fmt.Errorf("%s: expected a number as its name, such as 0.npy", filepath.Join(level, "metadata", f.Name()))
		}
		names = append(names, f.Name())
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	files := &rawImages{channels: 1}
	for _, name := range names {
		parse := func(r io.Reader) error { return files.parsePathfinder(level, r) }
		if err := datafile.Parse(filepath.Join(level, "metadata", name), parse); err != nil {
			return nil, err
		}
	}
	if len(files.paths) == 0 {
		return nil, datafile.NoData("%s lists no images", filepath.Join(level, "metadata"))
	}
	return files, nil
}

// pathfinderFolder returns the folder of the hardest images of a size. It is in dir, in its
// subfolder of the size, or in that of the release, whose archive contains lra_release/lra_release.
func pathfinderFolder(dir string, side int) (string, error) {
	name := "pathfinder" + strconv.Itoa(side) // as published
	for _, inner := range []string{"", name, filepath.Join("lra_release", name), filepath.Join("lra_release", "lra_release", name)} {
		level := filepath.Join(dir, inner, pathfinderLevel)
		if isFolder, err := datafile.IsFolder(filepath.Join(level, "metadata")); isFolder || err != nil {
			return level, err
		}
	}
	return "", datafile.NoData("data folder %s contains neither %s/metadata nor %s/%[2]s/metadata", dir, pathfinderLevel, name)
}

// parsePathfinder reads the list of images in a metadata file. In spite of its name it is a text
// file of one line per image. The columns are a folder, a file, a number and the label; further
// columns are ignored.
func (r *rawImages) parsePathfinder(level string, in io.Reader) error {
	return datafile.EachLine(in, bufio.MaxScanTokenSize, func(line string) error {
		columns := strings.Fields(line)
		if len(columns) < 4 || !filepath.IsLocal(filepath.FromSlash(columns[0])) || !filepath.IsLocal(columns[1]) {
			return errors.New("expected a folder, a file, a number and a label")
		}
		label, err := strconv.ParseUint(columns[3], 10, 8)
		if err != nil || label > 1 {
			return fmt.Errorf("label %.20q, expected 0 or 1", columns[3])
		}
		r.paths = append(r.paths, filepath.Join(level, filepath.FromSlash(columns[0]), columns[1]))
		r.labels = append(r.labels, uint8(label))
		return nil
	})
}

// check returns an error if an image is missing or empty, as in an incomplete copy, or if the first
// has another size. A long run would find them late.
func (r *rawImages) check(ctx context.Context, src Source, side int) error {
	for i, path := range r.paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			err = datafile.Regular(path, info)
		}
		if err == nil && info.Size() == 0 {
			err = fmt.Errorf("%s is empty", path)
		}
		if err != nil {
			return err
		}
		src.progress(i+1, len(r.paths))
	}
	first := rawImages{channels: 1}
	return first.readImage(r.paths[0], side)
}
