package rows

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Arrays reads series from NumPy arrays. path is an NPZ file with the arrays x and y, or x_train,
// y_train, x_val (or x_valid, x_validation, x_dev), y_val, x_test and y_test; a folder of NPY files
// with these names; or one NPY file, which is x. A note names the arrays that are not read.
//
// The shape of x is [n][channels][length] or, with LayoutChannelsLast or if the last axis has the
// length 1, [n][length][channels]; [n][length] for one channel, or [length] for one series. Of a
// forecast, [channels][length] is one series with LayoutChannelsFirst, and [length][channels] with
// LayoutChannelsLast. A note says how a shape was read that could be read in two ways.
// In x, NaN is a missing value, and NaN in every channel at the end of a series marks its end. For
// a classification, y has the shape [n] and contains whole numbers or text. For a regression, its
// shape is [n] or [n][targets], and the default names of the targets are y, or y1, y2 …. A forecast
// has no y. The names of the channels are 1, 2 …, or those in the optional array columns,
// [channels] of text.
//
// The numbers may be float32, float64, integers or truth values, in either byte order and in C or
// Fortran order. An array whose shape does not match the size of its file is an error, before
// memory is allocated for it. The values take 4 bytes each, and up to 18 bytes more while their
// array is read; 2^28 values are the limit.
func Arrays(ctx context.Context, path string, opt Options) (*dataset.Dataset, error) {
	d, err := arrays(ctx, path, opt)
	if err != nil {
		return nil, fmt.Errorf("rows: %s: %w", path, err)
	}
	return d, nil
}

func arrays(ctx context.Context, path string, opt Options) (*dataset.Dataset, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return seriesOfArrays(ctx, os.DirFS(path), ".", opt)
	case strings.EqualFold(filepath.Ext(path), ".npy"):
		return seriesOfArrays(ctx, os.DirFS(filepath.Dir(path)), filepath.Base(path), opt)
	}
	f, err := datafile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return zippedArrays(ctx, f, info.Size(), opt)
}

// zippedArrays loads an NPZ file, which is a zip file.
func zippedArrays(ctx context.Context, r io.ReaderAt, size int64, opt Options) (*dataset.Dataset, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an NPZ file: %w", err)
	}
	return seriesOfArrays(ctx, archive, ".", opt)
}

// valName is the usual form of the names of validation sets.
var valName = strings.NewReplacer("_validation", "_val", "_valid", "_val", "_dev", "_val")

// arrayFiles returns the NPY files of a folder by their names, or one NPY file as x.
func arrayFiles(fsys fs.FS, path string) (map[string]string, error) {
	if path != "." {
		return map[string]string{"x": path}, nil
	}
	entries, err := fs.ReadDir(fsys, ".")
	files := map[string]string{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".npy"); ok {
			name = strings.ToLower(name)
			if usual := valName.Replace(name); files[usual] == "" {
				name = usual
			}
			files[name] = e.Name()
		}
	}
	return files, err
}

// seriesOfArrays loads the arrays of a folder, or of one file, and makes series of them.
func seriesOfArrays(ctx context.Context, fsys fs.FS, path string, opt Options) (*dataset.Dataset, error) {
	files, err := arrayFiles(fsys, path)
	if err != nil {
		return nil, err
	}
	if opt.Mode == model.SeriesRegression && len(opt.Targets) == 0 {
		opt.Targets = []string{"y"} // several: arrayLoader.targets
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Mode == model.SeriesClassification && len(opt.Targets) > 0 {
		return nil, fmt.Errorf("targets %q: the classes of arrays are in y", opt.Targets)
	}
	if files["x"] != "" && files["x_train"] != "" {
		return nil, errors.New("arrays x and x_train, which may have the same series: expected one of them")
	}
	l := &arrayLoader{fsys: fsys, files: files, opt: opt, read: map[string]bool{}}
	if err := l.nameColumns(ctx); err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "_train", "_val", "_test"} {
		if !l.has("x" + suffix) {
			continue
		}
		split := strings.TrimPrefix(suffix, "_")
		if split == "train" && !l.has("x_val") {
			split = "" // the options decide
		}
		if err := l.addSplit(ctx, suffix, split); err != nil {
			return nil, err
		}
	}
	if l.records == nil {
		return nil, fmt.Errorf("no array x or x_train; expected x and y, or x_train and y_train, among %s", suggest.List(slices.Sorted(maps.Keys(files))))
	}
	for c := len(l.columns); c < l.channels; c++ {
		l.columns = append(l.columns, strconv.Itoa(c+1))
	}
	d, err := newSeriesData(l.records, l.columns, l.opt)
	if err == nil {
		d.Notes = append(l.notes(), d.Notes...)
	}
	return d, err
}

// has reports whether there is an array.
func (l *arrayLoader) has(name string) bool { return l.files[name] != "" }

// notes names the arrays that were not read, and states how the axes were read if the shape does
// not tell.
func (l *arrayLoader) notes() (notes []string) {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if !l.read[name] {
			others = append(others, name)
		}
	}
	labels := ", and y with the same endings"
	if l.opt.forecasts() {
		labels = ""
	}
	if others != nil {
		notes = append(notes, fmt.Sprintf("arrays %s are not read in mode %s, which reads x and columns, or x_train, x_val, x_test%s; --mode selects another", suggest.List(others), l.opt.Mode, labels))
	}
	switch s := l.shape; len(s) {
	case 2:
		notes = append(notes, fmt.Sprintf("x has the shape %v: read as %d series of %d steps; --layout %s reads one series of %[2]d channels, and --layout %[5]s one of %[3]d", s, s[0], s[1], LayoutChannelsFirst, LayoutChannelsLast))
	case 3:
		c, length, other := s[1], s[2], LayoutChannelsLast
		if l.channelsLast(s) {
			c, length, other = length, c, LayoutChannelsFirst
		}
		notes = append(notes, fmt.Sprintf("x has the shape %v: read as %d channels of %d steps; --layout %s reads %[3]d channels of %[2]d steps", s, c, length, other))
	}
	return notes
}

// arrayLoader collects the series of arrays.
type arrayLoader struct {
	fsys     fs.FS
	files    map[string]string // names of the files, by those of the arrays
	opt      Options
	channels int
	columns  []string
	records  []record
	values   int
	read     map[string]bool // by the names of the arrays
	shape    []int           // of an x that could be read in two ways
}

// load reads an array that the check accepts. Its errors name the array.
func (l *arrayLoader) load(ctx context.Context, name string, check shapeCheck) (*array, error) {
	l.read[name] = true
	in, err := l.fsys.Open(l.files[name])
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", name, err)
	}
	defer in.Close()
	info, err := in.Stat()
	var a *array
	if err == nil {
		a, err = readArray(in, info.Size(), check)
	}
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", name, err)
	}
	return a, ctx.Err()
}

// addSplit adds the series of a split.
func (l *arrayLoader) addSplit(ctx context.Context, suffix, split string) error {
	var n, c, length int
	var last bool
	x, err := l.load(ctx, "x"+suffix, func(shape []int, text bool) error {
		given := shape
		switch len(shape) {
		case 1:
			shape = []int{1, 1, shape[0]}
		case 2:
			shape, last = l.matrix(shape)
		case 3:
			last = l.channelsLast(shape)
		}
		if len(shape) != 3 || slices.Min(shape) == 0 {
			return fmt.Errorf("shape %v, expected [n channels length], [n length] or [length], each at least 1", given)
		}
		if n, c, length = shape[0], shape[1], shape[2]; last {
			c, length = length, c
		}
		if l.channels == 0 {
			l.channels = c
		}
		l.values += n * c * length
		switch {
		case text:
			return errors.New("text, expected numbers")
		case l.columns != nil && len(l.columns) != c:
			return fmt.Errorf("%d channels, but the array columns has %d names", c, len(l.columns))
		case c != l.channels || c > maxSeriesColumns:
			return fmt.Errorf("%d channels, expected %d", c, min(l.channels, maxSeriesColumns))
		case len(l.records)+n > maxSeriesCount || l.values > maxSeriesValues:
			return fmt.Errorf("more than %d series or %d values", maxSeriesCount, maxSeriesValues)
		}
		return nil
	})
	if err != nil {
		return err
	}
	first, size := len(l.records), c*length
	for i := range n {
		r := record{id: strconv.Itoa(first + i + 1), split: split, length: length, raw: x.numbers[i*size : (i+1)*size : (i+1)*size]}
		if last {
			r.raw = byChannel(r.raw, c)
		}
		r.trim(c)
		l.records = append(l.records, r)
	}
	if l.opt.forecasts() {
		return nil
	}
	return l.targets(ctx, l.records[first:], "y"+suffix)
}

// matrix returns the shape of a matrix with three axes, and whether that of channels is the last:
// rows are series of one channel, unless the layout says that the rows or columns of a forecast are
// the channels of one series.
func (l *arrayLoader) matrix(shape []int) (axes []int, last bool) {
	if l.opt.forecasts() && l.opt.ArrayLayout != "" {
		return []int{1, shape[0], shape[1]}, l.opt.ArrayLayout == LayoutChannelsLast
	}
	if l.opt.forecasts() && slices.Min(shape) > 1 {
		l.shape = shape
	}
	return []int{shape[0], 1, shape[1]}, false
}

// channelsLast reports whether the last axis of x is that of channels: if the layout says so or,
// without a layout, there are names for as many channels or its length is 1.
func (l *arrayLoader) channelsLast(shape []int) bool {
	if l.opt.ArrayLayout != "" {
		return l.opt.ArrayLayout == LayoutChannelsLast
	}
	if l.columns != nil {
		return len(l.columns) != shape[1] && len(l.columns) == shape[2]
	}
	if shape[1] >= shape[2] && shape[1] > 1 {
		l.shape = shape
	}
	return shape[2] == 1
}

// byChannel converts [length][channels] to [channels][length].
func byChannel(x []float64, channels int) []float64 {
	swapped := make([]float64, 0, len(x))
	for c := range channels {
		for i := c; i < len(x); i += channels {
			swapped = append(swapped, x[i])
		}
	}
	return swapped
}

// trim shortens a series by the rows at its end that are NaN in every channel.
func (r *record) trim(channels int) {
	length := 0
	for c := range channels {
		x := r.raw[c*r.length : (c+1)*r.length]
		n := len(x)
		for n > length && x[n-1] != x[n-1] {
			n--
		}
		length = max(length, n)
	}
	for c := range channels {
		copy(r.raw[c*length:], r.raw[c*r.length:][:length])
	}
	r.length, r.raw = length, r.raw[:channels*length]
}

// targets sets the classes or the numbers of series.
func (l *arrayLoader) targets(ctx context.Context, records []record, name string) error {
	if !l.has(name) {
		return fmt.Errorf("no array %s; a %s requires it", name, l.opt.Mode)
	}
	width := 1
	y, err := l.load(ctx, name, func(shape []int, text bool) error {
		if len(shape) == 2 {
			width = shape[1]
		}
		switch {
		case len(shape) < 1 || len(shape) > 2 || shape[0] != len(records) || width < 1 || width > maxSeriesColumns:
			return fmt.Errorf("shape %v, expected [%d]", shape, len(records))
		case width != 1 && l.opt.Mode == model.SeriesClassification:
			return fmt.Errorf("shape %v, expected one class per series: [%d]", shape, len(records))
		case text && l.opt.Mode == model.SeriesRegression:
			return errors.New("text, expected numbers")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.opt.Mode == model.SeriesRegression {
		if width > 1 && len(l.opt.Targets) == 1 && l.opt.Targets[0] == "y" && len(records) == len(l.records) {
			l.opt.Targets = nil
			for o := range width {
				l.opt.Targets = append(l.opt.Targets, fmt.Sprint("y", o+1))
			}
		}
		if width != len(l.opt.Targets) {
			return fmt.Errorf("array %s: shape %v, expected the numbers %q of each series", name, y.shape, l.opt.Targets)
		}
		for i, v := range y.numbers {
			records[i/width].target = append(records[i/width].target, float32(v))
		}
		return nil
	}
	for i := range records {
		if y.text != nil {
			records[i].label = y.text[i]
			continue
		}
		v := y.numbers[i]
		if v != math.Trunc(v) || math.Abs(v) >= 1<<24 {
			return fmt.Errorf("array %s: element %d is %v, expected a class: text, or a whole number below 2^24; the mode %s has other targets", name, i, v, model.SeriesRegression)
		}
		records[i].label = strconv.FormatFloat(v+0, 'f', 0, 64) // −0 + 0 = 0
	}
	return nil
}

// nameColumns reads the names of the channels, if there are any.
func (l *arrayLoader) nameColumns(ctx context.Context) error {
	if !l.has("columns") {
		return nil
	}
	a, err := l.load(ctx, "columns", func(shape []int, text bool) error {
		if !text || len(shape) != 1 || shape[0] > maxSeriesColumns {
			return fmt.Errorf("shape %v, expected text of the shape [channels]", shape)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.columns = a.text
	if err := checkNames(l.columns); err != nil {
		return fmt.Errorf("array columns: %w", err)
	}
	return nil
}
