package series_test

import (
	"bytes"
	"cmp"
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/snapshot"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
)

// A stream that is restored in the middle continues with the same bits, after a Reset too.
func TestSnapshot(t *testing.T) {
	for _, mode := range model.SeriesModes() {
		m := newModel(t, mode)
		m.Meta.Series.Missing = model.MissingPrevious
		for _, layer := range append(tonemodel.Layers(), m.Config.SSM) {
			c := m.Config
			c.SSM = layer
			other := must.Get(model.New(c, 1))(t)
			other.Meta = m.Meta
			t.Run(mode+" "+cmp.Or(string(layer.Layer), "s4d"), func(t *testing.T) { snapshots(t, newPredictor(t, other, series.Options{})) })
		}
	}
}

// snapshots restores streams at different rows, and compares their outputs with those of a stream
// that is never restored.
func snapshots(t *testing.T, p *series.Predictor) {
	rows := newRows(60)
	whole := outputs(t, p, rows)
	if fmt.Sprint(whole[40]) == fmt.Sprint(whole[59]) {
		t.Errorf("rows 40 and 59 both have the result %v, expected different ones", whole[40])
	}
	want := fmt.Sprint(whole)
	for _, at := range []int{0, 3, 7, 40} {
		first, second := p.NewStream(), p.NewStream()
		var got []series.Result
		step := func(s *series.Stream, row []float32) {
			got = append(got, cloned(must.Get(s.Step(wide(row)))(t)))
		}
		for _, row := range rows[:20] { // which Restore must forget
			step(second, row)
		}
		got = nil
		for _, row := range rows[:at] {
			step(first, row)
		}
		must.Do(t, second.Restore(first.Snapshot(nil)))
		must.Equal(t, second.Rows(), int64(at), "rows")
		for _, row := range rows[at:] {
			step(second, row)
		}
		must.Equal(t, fmt.Sprint(got), want, "restored at %d", at)
		second.Reset()
		must.Equal(t, string(second.Snapshot(nil)), string(p.NewStream().Snapshot(nil)), "state after Reset")
	}
}

// signed replaces a snapshot's checksum by the right one.
func signed(b []byte) []byte { return snapshot.End(bytes.Clone(b[:max(0, len(b)-4)]), 0) }

func TestRestoreErrors(t *testing.T) {
	m := newModel(t, model.SeriesAnomaly)
	s := newPredictor(t, m, series.Options{}).NewStream()
	must.Get(s.Step(wide(newRows(1)[0])))(t)
	snapshot := s.Snapshot([]byte("prefix"))[6:]
	edit := func(at int, b ...byte) []byte {
		e := bytes.Clone(snapshot)
		copy(e[at:], b)
		return signed(e)
	}
	other := newModel(t, model.SeriesAnomaly)
	other.Meta.Series.Window++
	for _, test := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, `series: snapshot: it does not begin with "S4DSERIE"`},
		{"version", edit(8, 9), "format version 9, this program reads version 1"},
		{"damaged", snapshot[:len(snapshot)-1], "damaged or truncated"},
		{"short", signed(snapshot[:40]), "40 bytes, expected at least "},
		{"model", newPredictor(t, other, series.Options{}).NewStream().Snapshot(nil), "series: snapshot: recurrent: snapshot: taken from another model"},
	} {
		before := string(s.Snapshot(nil))
		must.Fail(t, s.Restore(test.b), test.want)
		must.Equal(t, string(s.Snapshot(nil)), before, "%s: state after the error", test.name)
	}
}

// Every truncation and every flipped bit of a snapshot is an error, and the stream stays as it
// was.
func TestDamagedSnapshot(t *testing.T) {
	p := newPredictor(t, newModel(t, model.SeriesAnomaly), series.Options{})
	first, s := p.NewStream(), p.NewStream()
	for _, row := range newRows(9) {
		must.Get(first.Step(wide(row)))(t)
	}
	before := s.Snapshot(nil)
	must.Damage(t, first.Snapshot(nil), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(nil), before)
	})
}
