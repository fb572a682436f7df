package rows

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Mutated arrays and tables are an error, or series with no more values than the file can hold.
func TestMutatedSeries(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of files take minutes under emulation")
	}
	const promise = "a mutated NPZ or CSV file is an error or series of its size, with bounded memory"
	x := npyFile("<f4", false, []int{2, 2, 3}, []float32{1, 2, 3, 4, 5, 6, 7, 8, nan32, 9, 10, nan32})
	y := npyFile("<U4", false, []int{2}, utf32(4, "up", "öst"))
	for horizon, file := range [][]byte{ // 0: a classification
		npzFile(t, zip.Store, map[string][]byte{"x": x, "y": y}),
		npzFile(t, zip.Deflate, map[string][]byte{"x_train": npyFile(">f8", true, []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}), "x_val": npyFile("|i1", false, []int{2, 2}, []int8{1, 2, 3, 4})}),
	} {
		read := func(b []byte) (*dataset.Dataset, error) {
			return zippedArrays(t.Context(), bytes.NewReader(b), int64(len(b)), Options{Missing: model.MissingPrevious, Horizon: horizon})
		}
		must.Get(read(file))(t)
		must.Mutate(t, promise, 4<<20, file, func(b []byte) bool {
			d, err := read(b)
			if err != nil {
				return true
			}
			total := 0
			for _, r := range seriesDataOf(d).records {
				total += len(r.x)
			}
			return total <= 1032*len(b)
		})
	}
	for name, text := range map[string]string{"t.csv": longCSV, "t.jsonl": `{"id":"a","x":[1,null,-3.5e2],"y":["NA",5,6]}` + "\n" + `{"id":2,"y":[7],"x":[8]}`} {
		opt := TableOptions{Layout: LayoutLong, Options: Options{Missing: model.MissingPrevious}}
		if name == "t.jsonl" {
			opt.ID, opt.Layout = "id", LayoutWide
		} else {
			opt.ID, opt.Time, opt.Split, opt.Targets = "series", "t", "split", []string{"class"}
		}
		if _, _, err := readTable(name, []byte(text), opt); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		must.Mutate(t, promise, 4<<20, []byte(text), func(b []byte) bool {
			records, channels, err := readTable(name, b, opt)
			if err != nil {
				return true
			}
			total := 0
			for i := range records {
				total += len(records[i].x)
			}
			lines := csv.NewReader(bytes.NewReader(b))
			lines.FieldsPerRecord = -1
			rows, err := lines.ReadAll()
			if name == "t.csv" && err == nil && total < (len(rows)-1)*channels {
				return false // a row is missing
			}
			return total <= len(b)*channels
		})
	}
}
