package rows_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// The same series train the same weights, bit for bit, from a table in each layout, from arrays and
// from memory.
func TestSameWeights(t *testing.T) {
	noise := random.New(7, random.Signal, 0, 0)
	var list []rows.Series
	for i := range 30 {
		s := rows.Series{ID: strconv.Itoa(i + 1), Label: []string{"calm", "öd", "wild"}[i%3], Split: "train"}
		if i >= 20 {
			s.Split = []string{"val", "test"}[i/25]
		}
		for c := range 2 {
			x := make([]float32, 8+i%5)
			for l := range x {
				x[l] = float32(math.Exp(3*noise.Normal(uint64(100*i+50*c+l)))) - float32(i%3)
			}
			s.Values = append(s.Values, x)
		}
		list = append(list, s)
	}
	sameWeights(t, list, []string{"x", "y"})
}

// The same for a published data set.
func TestSameWeightsOfBasicMotions(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set")
	}
	tk := must.Get(task.Lookup("ts"))(t)
	d := must.Get(tk.Load(t.Context(), task.Source{Dir: filepath.Join(root, "ucr", "BasicMotions")}))(t)
	var list []rows.Series
	for _, p := range []struct {
		name string
		set  dataset.Set
	}{{"train", d.Train}, {"val", d.Val}, {"test", d.Test}} {
		for i := range p.set.Len() {
			var e dataset.Example
			must.Do(t, p.set.Example(&e, i, 0))
			s := rows.Series{ID: strconv.Itoa(len(list) + 1), Label: d.Labels[e.Label], Split: p.name}
			for c := range d.Channels {
				s.Values = append(s.Values, e.X[c*e.Len:(c+1)*e.Len])
			}
			list = append(list, s)
		}
	}
	must.Equal(t, len(list), 80, "series")
	sameWeights(t, list, []string{"ax", "ay", "az", "gx", "gy", "gz"})
}

// sameWeights writes the series, which are in the order train, val, test, in every layout, and
// compares the weights after three steps.
func sameWeights(t *testing.T, list []rows.Series, columns []string) {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	writeLayouts(t, dir, list, columns)
	opt := rows.Options{Targets: []string{"class"}}
	table := rows.TableOptions{Options: opt, ID: "id", Split: "split"}
	wide := table
	wide.Layout = rows.LayoutWide
	want := weights(t, must.Get(rows.FromSeries(list, columns, rows.Options{}))(t))
	for name, load := range map[string]func() (*dataset.Dataset, error){
		"long.csv":      func() (*dataset.Dataset, error) { return rows.Table(t.Context(), path("long.csv"), table) },
		"wide.csv":      func() (*dataset.Dataset, error) { return rows.Table(t.Context(), path("wide.csv"), wide) },
		"rows.jsonl":    func() (*dataset.Dataset, error) { return rows.Table(t.Context(), path("rows.jsonl"), table) },
		"objects.jsonl": func() (*dataset.Dataset, error) { return rows.Table(t.Context(), path("objects.jsonl"), table) },
		"arrays.npz": func() (*dataset.Dataset, error) {
			return rows.Arrays(t.Context(), path("arrays.npz"), rows.Options{})
		},
	} {
		got := weights(t, must.Get(load())(t))
		must.Equal(t, bytes.Equal(got, want), true, "%s trains the weights of the series in memory", name)
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	if bytes.Equal(weights(t, must.Get(rows.FromSeries(reversed, columns, rows.Options{}))(t)), want) {
		t.Error("series in another order train the same weights: the comparison detects nothing")
	}
}

// weights trains a small network for three steps and returns its weights.
func weights(t *testing.T, d *dataset.Dataset) []byte {
	t.Helper()
	c := train.Default()
	c.Seed, c.Workers = 5, 1
	c.Model.DModel, c.Model.NLayers, c.SSM.DState, c.Train.Batch, c.Train.Epochs, c.Train.MaxSteps = 8, 1, 8, 6, 2, 3
	tr := must.Get(train.New(context.Background(), c, d, train.Options{}))(t)
	must.Do(t, tr.Fit(context.Background()))
	m := tr.Best()
	m.Meta = model.Meta{}
	var b bytes.Buffer
	must.Get(m.WriteTo(&b))(t)
	return b.Bytes()
}

// writeLayouts writes series to long.csv, wide.csv, rows.jsonl, objects.jsonl and arrays.npz.
func writeLayouts(t *testing.T, dir string, list []rows.Series, columns []string) {
	t.Helper()
	number := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
	longest := 0
	for _, s := range list {
		longest = max(longest, len(s.Values[0]))
	}
	var long, wide, rows, objects bytes.Buffer
	longCSV, wideCSV := csv.NewWriter(&long), csv.NewWriter(&wide)
	head := []string{"id", "split", "class"}
	must.Do(t, longCSV.Write(append(head[:3:3], columns...)))
	names := head[:3:3]
	for _, c := range columns {
		for l := range longest {
			names = append(names, fmt.Sprintf("%s_%d", c, l))
		}
	}
	must.Do(t, wideCSV.Write(names))
	arrays := map[string]*splitArrays{}
	for _, s := range list {
		about := []string{s.ID, s.Split, s.Label}
		object := map[string]any{"id": s.ID, "split": s.Split, "class": s.Label}
		line := about[:3:3]
		for c, x := range s.Values {
			object[columns[c]] = x
			for l := range longest {
				if l < len(x) {
					line = append(line, number(x[l]))
				} else {
					line = append(line, "")
				}
			}
		}
		must.Do(t, wideCSV.Write(line))
		must.Do(t, json.NewEncoder(&objects).Encode(object))
		for l := range s.Values[0] {
			cells, row := about[:3:3], map[string]any{"id": s.ID, "split": s.Split, "class": s.Label}
			for c, x := range s.Values {
				cells, row[columns[c]] = append(cells, number(x[l])), x[l]
			}
			must.Do(t, longCSV.Write(cells))
			must.Do(t, json.NewEncoder(&rows).Encode(row))
		}
		if arrays[s.Split] == nil {
			arrays[s.Split] = &splitArrays{}
		}
		arrays[s.Split].add(s, longest)
	}
	longCSV.Flush()
	wideCSV.Flush()
	var npz bytes.Buffer
	z := zip.NewWriter(&npz)
	for split, a := range arrays {
		shape := fmt.Sprintf("(%d, %d, %d)", len(a.y)/16, len(columns), longest)
		must.Get(must.Get(z.Create("x_" + split + ".npy"))(t).Write(npyOf("<f4", shape, a.x)))(t)
		must.Get(must.Get(z.Create("y_" + split + ".npy"))(t).Write(npyOf("<U16", fmt.Sprintf("(%d,)", len(a.y)/16), a.y)))(t)
	}
	must.Do(t, z.Close())
	for name, b := range map[string]*bytes.Buffer{"long.csv": &long, "wide.csv": &wide, "rows.jsonl": &rows, "objects.jsonl": &objects, "arrays.npz": &npz} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666))
	}
}

// splitArrays are the arrays x and y of a split. y has labels of 16 characters.
type splitArrays struct {
	x []float32
	y []uint32
}

func (a *splitArrays) add(s rows.Series, longest int) {
	for _, x := range s.Values {
		a.x = append(a.x, x...)
		for range longest - len(x) {
			a.x = append(a.x, float32(math.NaN()))
		}
	}
	var label [16]uint32
	for i, c := range []rune(s.Label) {
		label[i] = uint32(c)
	}
	a.y = append(a.y, label[:]...)
}

// npyOf returns an NPY file.
func npyOf(dtype, shape string, data any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", dtype, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	b = append(b, header...)
	b, err := binary.Append(b, binary.LittleEndian, data)
	if err != nil {
		panic(err)
	}
	return b
}
