package rows

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// npyFile returns an NPY file as NumPy writes it: version 1.0, padded to a multiple of 64 bytes.
func npyFile(dtype string, fortran bool, shape []int, data any) []byte {
	var dims []string
	for _, d := range shape {
		dims = append(dims, fmt.Sprint(d))
	}
	tuple := "(" + strings.Join(dims, ", ") + ")"
	if len(dims) == 1 {
		tuple = "(" + dims[0] + ",)"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", dtype, map[bool]string{false: "False", true: "True"}[fortran], tuple)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	if strings.HasPrefix(dtype, ">") {
		binary.Write(&b, binary.BigEndian, data)
	} else {
		binary.Write(&b, binary.LittleEndian, data)
	}
	return b.Bytes()
}

// utf32 returns text as NumPy's type U of so many characters.
func utf32(width int, text ...string) []uint32 {
	var list []uint32
	for _, s := range text {
		for _, c := range s {
			list = append(list, uint32(c))
		}
		list = append(list, make([]uint32, width-len([]rune(s)))...)
	}
	return list
}

// npzFile returns an NPZ file.
func npzFile(t testing.TB, method uint16, arrays map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range arrays {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method}))(t)
		must.Get(w.Write(data))(t)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// arraysOf loads arrays from a file.
func arraysOf(t *testing.T, name string, data []byte, opt Options) (*dataset.Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testfiles.Write(t, path, data)
	return Arrays(context.Background(), path, opt)
}

func TestArrays(t *testing.T) {
	nan := nan32
	x := npyFile("<f4", false, []int{3, 2, 2}, []float32{1, 2, 3, 4, 5, nan, 6, nan, 7, 8, 9, nan})
	xVal := npyFile(">f8", true, []int{1, 2, 3}, []float64{1, 4, 2, 5, 3, 6})
	y := npyFile("<U4", false, []int{3}, utf32(4, "up", "öst", "up"))
	columns := npyFile("|S3", false, []int{2}, []byte("acc\x00\x00gyr")[:6])
	copy(columns[len(columns)-6:], "ac\x00gyr")
	arrays := map[string][]byte{"X_train": x, "y_train": y, "x_val": xVal, "y_val": npyFile("<U2", false, []int{1}, utf32(2, "up")), "columns": columns, "other": []byte("anything")}
	const want = "train 1 2 [1 2 3 4] up\ntrain 2 1 [5 6] öst\ntrain 3 2 [7 8 9 9] up\nval 4 3 [1 2 3 4 5 6] up"
	opt := Options{Missing: model.MissingPrevious}
	dir := t.TempDir()
	for name, data := range arrays {
		testfiles.Write(t, filepath.Join(dir, strings.ToLower(name)+".npy"), data)
	}
	for name, load := range map[string]func() (*dataset.Dataset, error){
		"stored":     func() (*dataset.Dataset, error) { return arraysOf(t, "a.npz", npzFile(t, zip.Store, arrays), opt) },
		"compressed": func() (*dataset.Dataset, error) { return arraysOf(t, "a.npz", npzFile(t, zip.Deflate, arrays), opt) },
		"folder":     func() (*dataset.Dataset, error) { return Arrays(context.Background(), dir, opt) },
	} {
		d := must.Get(load())(t)
		must.Equal(t, described(t, d), want, "%s: series", name)
		must.Equal(t, fmt.Sprint(d.Series.Columns, d.Labels), "[ac gyr] [up öst]", "%s: columns and labels", name)
	}
}

// Every type of number is read.
func TestArrayTypes(t *testing.T) {
	forecast := Options{Horizon: 1, Validation: 0.3}
	for _, test := range []struct {
		dtype string
		data  any
	}{
		{"<f4", []float32{0, 1, 2, 3}}, {">f4", []float32{0, 1, 2, 3}}, {"<f8", []float64{0, 1, 2, 3}},
		{"|i1", []int8{0, 1, 2, 3}}, {"<i2", []int16{0, 1, 2, 3}}, {">i4", []int32{0, 1, 2, 3}}, {"<i8", []int64{0, 1, 2, 3}},
		{"|u1", []uint8{0, 1, 2, 3}}, {">u2", []uint16{0, 1, 2, 3}}, {"<u4", []uint32{0, 1, 2, 3}}, {"<u8", []uint64{0, 1, 2, 3}},
	} {
		d := must.Get(arraysOf(t, "x.npy", npyFile(test.dtype, false, []int{4}, test.data), forecast))(t)
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 0, 0))
		if !slices.Equal(e.X, []float32{0, 1}) || !slices.Equal(e.Target, []float32{1, 2}) {
			t.Errorf("%s: %v, target %v", test.dtype, e.X, e.Target)
		}
	}
	d := must.Get(arraysOf(t, "x.npy", npyFile("|b1", false, []int{6}, []bool{true, false, true, true, false, false}), forecast))(t)
	must.Equal(t, d.Mean[0], 0.75, "mean of the four truth values of the training set")
}

func TestArrayRegression(t *testing.T) {
	x := npyFile("<i2", false, []int{4, 2}, []int16{1, 2, 3, 4, 5, 6, 7, 8})
	y := npyFile("<f8", true, []int{4, 2}, []float64{0.5, 1.5, 2.5, 3.5, 10, 20, 30, 40})
	opt := Options{Mode: model.SeriesRegression, Validation: 0.25}
	d := must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Deflate, map[string][]byte{"x": x, "y": y}), opt))(t)
	if got := described(t, d); !strings.Contains(got, "2 2 [3 4] [1.5 20]") || d.Outputs != 2 || fmt.Sprint(d.Series.Targets) != "[y1 y2]" {
		t.Errorf("%+v\n%s", d.Info, got)
	}
	y = npyFile("<f4", false, []int{4}, []float32{1, 2, 3, 4})
	d = must.Get(arraysOf(t, "a.npz", npzFile(t, zip.Deflate, map[string][]byte{"x": x, "y": y}), opt))(t)
	must.Equal(t, fmt.Sprint(d.Series.Targets, d.Outputs), "[y] 1", "one target")
}

func TestArrayErrors(t *testing.T) {
	x := npyFile("<f4", false, []int{2, 2}, []float32{1, 2, 3, 4})
	y := npyFile("<i8", false, []int{2}, []int64{0, 1})
	changed := func(b []byte, old, new string) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	class, numbers := Options{}, Options{Mode: model.SeriesRegression}
	for _, test := range []struct {
		want   string
		arrays map[string][]byte
		opt    Options
	}{
		{`no array x or x_train; expected x and y, or x_train and y_train, among ["y"]`, map[string][]byte{"y": y}, class},
		{"no array y; a classification requires it", map[string][]byte{"x": x}, class},
		{"array x: not an NPY file", map[string][]byte{"x": []byte("PK"), "y": y}, class},
		{"array x: shape [2 2] of <f4 requires 16 bytes, the file has 15", map[string][]byte{"x": x[:len(x)-1], "y": y}, class},
		{"array x: shape (9999, 999999): more than 268435456 elements", map[string][]byte{"x": changed(x, "(2, 2), }        ", "(9999, 999999), }"), "y": y}, class},
		{`array x: type "<c8": expected float32`, map[string][]byte{"x": changed(x, "<f4", "<c8"), "y": y}, class},
		{`array x: header "{'descr': '|O'`, map[string][]byte{"x": changed(x, "'<f4'", "'|O' "), "y": y}, class},
		{"array x: text, expected numbers", map[string][]byte{"x": npyFile("<U1", false, []int{2, 2}, utf32(1, "a", "b", "c", "d")), "y": y}, class},
		{"array y: shape [3], expected [2]", map[string][]byte{"x": x, "y": npyFile("<i8", false, []int{3}, []int64{0, 1, 2})}, class},
		{"array y: shape [2 2], expected one class per series", map[string][]byte{"x": x, "y": npyFile("<i8", false, []int{2, 2}, make([]int64, 4))}, class},
		{"array y: element 1 is 0.5, expected a class", map[string][]byte{"x": x, "y": npyFile("<f4", false, []int{2}, []float32{1, 0.5})}, class},
		{"array y: text, expected numbers", map[string][]byte{"x": x, "y": npyFile("<U1", false, []int{2}, utf32(1, "a", "b"))}, numbers},
		{`series "1": row 2: column "1": the value is missing`, map[string][]byte{"x": npyFile("<f4", false, []int{2, 3}, []float32{1, nan32, 2, 1, 2, 3}), "y": y}, class},
		{`targets ["y"]: the classes of arrays are in y`, map[string][]byte{"x": x, "y": y}, Options{Targets: []string{"y"}}},
		{"array x: 2 channels, but the array columns has 3 names", map[string][]byte{"x": changed(x, "(2, 2), }   ", "(2, 2, 1), }"), "y": y, "columns": npyFile("|S1", false, []int{3}, []byte("abc"))}, class},
	} {
		_, err := arraysOf(t, "a.npz", npzFile(t, zip.Store, test.arrays), test.opt)
		must.Fail(t, err, "rows: ", "a.npz: ", test.want)
	}
	must.Reject(arraysOf(t, "a.npz", []byte("x"), class))(t, "not an NPZ file")
	must.Reject(Arrays(context.Background(), filepath.Join(t.TempDir(), "absent.npz"), class))(t, os.ErrNotExist, "absent.npz")

	damaged := npzFile(t, zip.Store, map[string][]byte{"x": x, "y": y})
	damaged[bytes.Index(damaged, []byte{0, 0, 0x80, 0x3f})+2] ^= 1
	must.Reject(arraysOf(t, "a.npz", damaged, class))(t, "array x", zip.ErrChecksum)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "x.npy")
	testfiles.Write(t, path, npyFile("<f4", false, []int{2}, []float32{1, 2}))
	must.Reject(Arrays(ctx, path, Options{Horizon: 1}))(t, context.Canceled)
}

// FuzzArrays reads arbitrary NPZ files. What is accepted has no more values than deflate can hold
// in so many bytes.
func FuzzArrays(f *testing.F) {
	x := npyFile("<f4", false, []int{2, 2, 3}, []float32{1, 2, 3, 4, 5, 6, 7, 8, nan32, 9, 10, nan32})
	y := npyFile("<U4", false, []int{2}, utf32(4, "up", "öst"))
	f.Add(npzFile(f, zip.Store, map[string][]byte{"x": x, "y": y}), false)
	f.Add(npzFile(f, zip.Deflate, map[string][]byte{"x_train": npyFile(">f8", true, []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}), "x_val": npyFile("|i1", false, []int{2, 2}, []int8{1, 2, 3, 4})}), true)
	f.Add(npzFile(f, zip.Store, map[string][]byte{"x": npyFile("|b1", false, []int{4}, []bool{true, false, true, true}), "columns": npyFile("|S2", false, []int{1}, []byte("on"))}), true)
	f.Add(npzFile(f, zip.Store, map[string][]byte{"x": npyFile("<f8", false, nil, 5.0)}), true)
	f.Fuzz(func(t *testing.T, data []byte, forecast bool) {
		opt := Options{Missing: model.MissingPrevious}
		if forecast {
			opt.Horizon = 1
		}
		d, err := zippedArrays(context.Background(), bytes.NewReader(data), int64(len(data)), opt)
		if err != nil {
			return
		}
		total := 0
		for _, s := range []dataset.Set{d.Train, d.Val, d.Test} {
			switch s := tiles(s).(type) {
			case *windowSet:
				for _, r := range s.records {
					total = max(total, len(r.x))
				}
			case dataset.Set:
				for i := range s.Len() {
					total += s.Length(i) * d.Channels
				}
			}
		}
		if total > 1032*len(data) {
			t.Fatalf("%d values from %d bytes", total, len(data))
		}
	})
}
