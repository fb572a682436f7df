package rows

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// readTable reads the series of a file in memory.
func readTable(name string, data []byte, opt TableOptions) ([]record, int, error) {
	t := newTableReader(opt)
	if err := t.opt.check(); err != nil {
		return nil, 0, err
	}
	if err := t.read(context.Background(), &tableFile{path: name}, bytes.NewReader(data)); err != nil {
		return nil, 0, err
	}
	records, err := t.records(context.Background())
	return records, len(t.columns), err
}

// Rows as long as a line can be, and sizes in the headers of arrays, cost no more memory than
// docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		layout     string
		most       int
		want       string
	}{
		"2²⁰ values of a series":  {"a.jsonl", `{"id":"1","x":[` + strings.Repeat("1,", 1<<20) + "1]}\n", LayoutLong, 256 << 20, ""},
		"2¹⁸ series of one value": {"a.csv", "id,x\n" + strings.Repeat("a,1\n", 1<<18), LayoutLong, 128 << 20, ""},
		"2¹⁶ series":              {"a.csv", "id,x\n" + numbered(1<<16), LayoutLong, 128 << 20, ""},
	} {
		var err error
		text := []byte(c.text)
		opt := TableOptions{ID: "id", Layout: c.layout}
		opt.Horizon = 1
		must.Allocates(t, c.most, func() { _, _, err = readTable(c.file, text, opt) }, "%s", name)
		if c.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, c.want)
		}
	}
	x := npyFile("<f4", false, []int{2, 2}, []float32{1, 2, 3, 4})
	for _, shape := range []string{"(268435456,)", "(16384, 16384)", "(9999, 99999999)"} {
		var err error
		file := npzFile(t, zip.Store, map[string][]byte{"x": bytes.Replace(x, []byte("(2, 2), }"+strings.Repeat(" ", len(shape)-6)), []byte(shape+", }"), 1)})
		must.Allocates(t, 1<<20, func() {
			_, err = zippedArrays(t.Context(), bytes.NewReader(file), int64(len(file)), Options{Horizon: 1})
		}, "an array of shape %s", shape)
		must.Fail(t, err, "array x: shape")
	}
	for _, array := range []string{"y", "columns"} {
		for dtype, element := range map[string]int{"|S1": 1, "|i1": 1, "<U1": 4} {
			var err error
			file := npzFile(t, zip.Deflate, map[string][]byte{"x": x, array: npyFile(dtype, false, []int{1 << 22}, make([]byte, element<<22))})
			opt := Options{Mode: model.SeriesForecast}
			if array == "y" {
				opt.Mode = model.SeriesClassification
			}
			must.Allocates(t, 1<<20, func() { _, err = zippedArrays(t.Context(), bytes.NewReader(file), int64(len(file)), opt) }, "2²² elements %s of %s", dtype, array)
			must.Fail(t, err, "array "+array+": shape [4194304], expected")
		}
	}
	file := npzFile(t, zip.Store, map[string][]byte{"x": x, "columns": npyFile("|S3", false, []int{2}, []byte("accgyr"))})
	must.HugeNumbers(t, 1<<20, file, func(b []byte) {
		_, _ = zippedArrays(t.Context(), bytes.NewReader(b), int64(len(b)), Options{Horizon: 1})
	})
}

// The missing rows of a table are counted before memory is allocated for them.
func TestGapBounds(t *testing.T) {
	const columns = 1 << 11
	text := "t"
	for c := range columns {
		text += fmt.Sprint(",c", c)
	}
	for _, at := range []string{"0", "1", "65537"} {
		text += "\n" + at + strings.Repeat(",1", columns)
	}
	opt := TableOptions{Time: "t", Options: Options{Horizon: 1, Missing: model.MissingPrevious}}
	var err error
	must.Allocates(t, 16<<20, func() { _, _, err = readTable("a.csv", []byte(text), opt) }, "a gap of 2¹⁶ rows and 2¹¹ columns")
	must.Fail(t, err, "a.csv:4: more rows are missing than present")
}

// numbered returns n series of one value each.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,1\n", i)
	}
	return b.String()
}

// FuzzTable reads arbitrary files. What is accepted has no more values than the file has bytes,
// except for missing ones.
func FuzzTable(f *testing.F) {
	f.Add("t.csv", "", true, longCSV)
	f.Add("t.csv", "series", true, "series,x\n\"a,\"\"b\",1\nc,NA\nc,2\n")
	f.Add("t.csv", "1", false, "a\t1\t2\t\nb\t?\t4\t5\n")
	f.Add("t.csv", "", false, "\xef\xbb\xbfx_1;y_1;x_0;y_0\n1;2;3;4\n\n;1;;1e-40\n")
	f.Add("t.jsonl", "id", true, `{"id":"a","x":[1,null,-3.5e2],"y":["NA",5,6]}`+"\n{\"id\":2,\"y\":[],\"x\":[]}")
	f.Add("t.jsonl", "k", true, `{"x":1,"y":"2","k":true}`+"\n{\"y\":3,\"k\":true}\n")
	f.Fuzz(func(t *testing.T, name, id string, long bool, text string) {
		opt := TableOptions{ID: id, Layout: LayoutWide, Options: Options{Missing: model.MissingPrevious}}
		if long {
			opt.Layout = LayoutLong
		}
		records, channels, err := readTable(name, []byte(text), opt)
		if err != nil {
			return
		}
		total, given := 0, 0
		for i := range records {
			total += len(records[i].raw)
			for _, v := range records[i].raw {
				if v == v {
					given++
				}
			}
		}
		if strings.HasPrefix(text, "\x1f\x8b") {
			return // a compressed file may have more values than bytes
		}
		if given > len(text) || total > len(text)*channels {
			t.Fatalf("%d values, %d of them known, from %d bytes", total, given, len(text))
		}
	})
}
