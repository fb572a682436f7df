package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// tiny has every operation at a small size.
var tiny = []workload{
	fma, copying(64), cexpOf(64), fftOf(64), convOf(32), vandermondeOf(2, 4, 32), cauchyOf(2, 4, 32), scanOf(4, 32), gemmOf(4, 8, 16),
	stepOf(shape{layer: ssm.LayerS4D, h: 2, modes: 4, length: 16}),
	stepOf(shape{layer: ssm.LayerS4, h: 2, modes: 4, length: 16}),
	stepOf(shape{layer: ssm.LayerS5, h: 2, modes: 4, length: 16}),
	stepOf(shape{layer: ssm.LayerLRU, h: 2, modes: 4, length: 16}),
	trainOf(shape{layer: ssm.LayerS4D, h: 4, modes: 2, length: 16, batch: 2, layers: 1}),
	trainOf(shape{layer: ssm.LayerDSS, h: 4, modes: 2, length: 16, batch: 2, layers: 1}),
	trainOf(shape{layer: ssm.LayerS4, h: 4, modes: 2, length: 16, batch: 2, layers: 1}),
	trainOf(shape{layer: ssm.LayerS5, h: 4, modes: 2, length: 16, batch: 2, layers: 1}),
	trainOf(shape{layer: ssm.LayerLRU, h: 4, modes: 2, length: 16, batch: 2, layers: 1}),
}

func collect(t *testing.T, o Options, cases []workload) []Row {
	t.Helper()
	var rows []Row
	must.Do(t, o.run(t.Context(), cases, func(r []Row) error { rows = append(rows, r...); return nil }))
	return rows
}

func TestEveryOp(t *testing.T) {
	before := vek.CurrentLevel()
	rows := collect(t, Options{Workers: []int{1, 2}, Time: time.Nanosecond}, tiny)
	must.Equal(t, vek.CurrentLevel(), before, "level afterwards")
	levels := vek.Levels()
	if want := len(tiny) * 2 * len(levels); len(rows) != want {
		t.Fatalf("%d rows, expected %d", len(rows), want)
	}
	for i, r := range rows {
		w := tiny[i/len(levels)/2]
		must.Equal(t, r.Op, w.op, "op of row %d", i)
		must.Equal(t, r.Level, string(levels[i%len(levels)]), "level of row %d", i)
		must.Equal(t, r.Workers, i/len(levels)%2+1, "threads of row %d", i)
		must.Equal(t, r.Sizes, w.Sizes, "sizes of row %d", i)
		counted := r.Op != "copy"
		for what, v := range map[string]struct {
			value float64
			there bool
		}{
			"ns": {r.NS, true}, "gflops": {r.GFLOPS, counted}, "peak": {r.Peak, counted},
			"gb_per_second": {r.GBPerSecond, r.Op == "copy"}, "sequences_per_second": {r.SequencesPerSecond, strings.HasPrefix(r.Op, "train")},
		} {
			must.Equal(t, v.value > 0, v.there, "%s, %s, %d threads: %s of %v is more than 0", r.Op, r.Level, r.Workers, what, v.value)
			if math.IsInf(v.value, 0) || math.IsNaN(v.value) {
				t.Errorf("%s, %s, %d threads: %s is %v, expected a finite number", r.Op, r.Level, r.Workers, what, v.value)
			}
		}
	}
}

// Every operation has cases of its own name, and a case in tiny.
func TestTable(t *testing.T) {
	for i, op := range Ops() {
		if op.Unit == "" || len(op.cases) == 0 || tiny[i].op != op.Name {
			t.Errorf("op %q: unit %q, %d cases, tested as %q", op.Name, op.Unit, len(op.cases), tiny[i].op)
		}
		for _, w := range op.cases {
			if w.op != op.Name || w.units == 0 {
				t.Errorf("op %q has a case of op %q with %v units", op.Name, w.op, w.units)
			}
		}
	}
}

// The names in JSON are those of the documentation. M and m differ.
func TestJSON(t *testing.T) {
	r := Row{
		Op: "train", Level: "avx2", Workers: 2, NS: 1, GFLOPS: 2, Peak: 0.5, GBPerSecond: 3, SequencesPerSecond: 4,
		Sizes: Sizes{N: 1, L: 2, H: 3, M: 4, Rows: 5, K: 6, B: 7, Layers: 8},
	}
	text := must.Get(json.Marshal(r))(t)
	want := `{"op":"train","level":"avx2","threads":2,"n":1,"L":2,"H":3,"M":4,"m":5,"k":6,"B":7,"layers":8,` +
		`"ns":1,"gflops":2,"peak":0.5,"gb_per_second":3,"sequences_per_second":4}`
	if string(text) != want {
		t.Errorf("got\n%s\nexpected\n%s", text, want)
	}
	var back Row
	must.Do(t, json.Unmarshal(text, &back))
	must.Equal(t, back, r, "row read back")
	must.Equal(t, (Sizes{N: 8, Rows: 4, K: 16}).String(), "m=4 n=8 k=16", "sizes")
}

func TestValidate(t *testing.T) {
	for want, o := range map[string]Options{
		`operation "divide", expected one of peak`: {Time: 1, Ops: []string{"fft", "divide"}},
		`level "abacus" is not avail`:              {Levels: []string{"generic", "abacus"}},
		"0 threads":                                {Workers: []int{1, 0}},
		"-1ns":                                     {Time: -1},
	} {
		err := Run(t.Context(), o, nil)
		must.Fail(t, err, want)
	}
}

// A run ends between two samples if its context is done, and if emit returns an error.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := Options{Time: time.Nanosecond}.run(ctx, tiny, func([]Row) error { seen++; cancel(); return nil })
	must.Fail(t, err, context.Canceled)
	must.Equal(t, seen, 1, "sizes until the context is done")
	full := errors.New("full")
	must.Fail(t, (Options{Time: time.Nanosecond}).run(t.Context(), tiny, func([]Row) error { return full }), full)
}

// patient is a peer that implements transforms only, and counts calls.
type patient struct {
	asked int
	err   error
}

func (p *patient) Name() string { return "patient" }
func (p *patient) Stop()        {}

func (p *patient) Measure(r Row, _ time.Duration) (float64, error) {
	if r.Op != "fft" {
		return 0, nil
	}
	p.asked++
	return float64(100 * p.asked), p.err
}

func TestPeer(t *testing.T) {
	p := &patient{}
	o := Options{Levels: []string{"generic"}, Time: time.Nanosecond, Peers: []Peer{p}}
	rows := collect(t, o, []workload{fftOf(64), convOf(32)})
	if len(rows) != 3 || rows[1].Peer != "patient" || rows[0].Peer != "" || rows[2].Peer != "" {
		t.Fatalf("rows %+v", rows)
	}
	// One call to warm up, then as many as for the slowest operations.
	r := rows[1]
	if r.Op != "fft" || r.N != 64 || r.Level != "" || r.NS != 300 || r.GFLOPS != transformFlops(64)/300 {
		t.Errorf("row %+v after %d requests", r, p.asked)
	}
	p.err = errors.New("tired")
	must.Fail(t, o.run(t.Context(), []workload{fftOf(64)}, func([]Row) error { return nil }), "bench: fft: patient: tired")
}

func TestNumbers(t *testing.T) {
	var n Numbers
	must.Do(t, n.Set("1,100,10000"))
	must.Equal(t, n.String(), "1,100,10000", "numbers")
	for _, list := range []string{"", "0", "1,,2", "many"} {
		must.Fail(t, n.Set(list), "expected numbers above 0")
	}
}
