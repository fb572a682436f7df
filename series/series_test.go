package series_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/series"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// newModel returns a model of three columns in units of their own, with random weights.
func newModel(t testing.TB, mode string) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = 3, 2, 16, 2
	c.SSM = ssm.Config{DState: 16, Init: ssm.DFouT, Disc: ssm.ZOH, AReal: 0.5, XiMin: 1e-3, XiMax: 0.1}
	meta := model.Meta{
		InputMean: []float32{1013, -3, 0.02}, InputStd: []float32{9, 200, 0.001},
		Series: &model.Series{Mode: mode, Columns: []string{"pressure", "flow", "strain"}},
	}
	switch mode {
	case model.SeriesClassification:
		meta.Labels = []string{"idle", "running"}
	case model.SeriesForecast, model.SeriesAnomaly:
		c.Pool = model.PoolNone
		meta.Series.Horizon, meta.Series.Window, meta.Series.Residual = 7, 50, []float32{3, 0.0005}
		fallthrough
	default:
		meta.Series.Targets = []string{"pressure", "strain"}
		meta.TargetMean, meta.TargetStd = []float32{1000, 0.02}, []float32{10, 0.001}
	}
	m := must.Get(model.New(c, 1))(t)
	m.Meta = meta
	return m
}

// newRows returns noise [length][3] in the units of newModel's columns.
func newRows(length int) [][]float32 {
	r := random.New(2, random.Signal, 0, 0)
	rows := make([][]float32, length)
	for l := range rows {
		n := func(c int) float32 { return float32(r.Normal(uint64(3*l + c))) }
		rows[l] = []float32{1013 + 9*n(0), -3 + 200*n(1), 0.02 + 0.001*n(2)}
	}
	return rows
}

func newPredictor(t testing.TB, m *model.Model, opt series.Options) *series.Predictor {
	t.Helper()
	return must.Get(series.New(m, opt))(t)
}

// outputs returns what a new stream gives for every row.
func outputs(t testing.TB, p *series.Predictor, rows [][]float32) (out []series.Result) {
	t.Helper()
	s := p.NewStream()
	for _, row := range rows {
		out = append(out, cloned(must.Get(s.Step(wide(row)))(t)))
	}
	return out
}

func cloned(r series.Result) series.Result {
	return series.Result{Output: slices.Clone(r.Output), Forecast: slices.Clone(r.Forecast), Expected: slices.Clone(r.Expected), Scores: slices.Clone(r.Scores)}
}

// wide returns a row of float64.
func wide(row []float32) (values []float64) {
	for _, v := range row {
		values = append(values, float64(v))
	}
	return values
}

// convolve returns the outputs of convolution mode, [d_output] or [d_output][length], in the unit
// of the target.
func convolve(t *testing.T, m *model.Model, rows [][]float32) []float64 {
	t.Helper()
	net := must.Get(convmode.New(m, convmode.Options{MaxBatch: 1, MaxLen: len(rows), Workers: 1}))(t)
	defer net.Close()
	x := make([]float32, 3*len(rows))
	for l, row := range rows {
		for c, v := range row {
			scale, shift := m.Meta.Affine(c)
			x[c*len(rows)+l] = float32(scale*v) + shift
		}
	}
	var out []float64
	y := net.Forward(convmode.Batch{Size: 1, Len: len(rows), X: x})
	for i, v := range y {
		scale, shift := m.Meta.OutputScale(i * m.Config.DOutput / len(y))
		out = append(out, float64(v)*float64(scale)+float64(shift))
	}
	return out
}

// A forecast made row by row equals that of convolution mode to 1e-5 of the target's deviation, at
// every row.
func TestForecast(t *testing.T) {
	const length = 3000
	m, rows := newModel(t, model.SeriesForecast), newRows(length)
	want := convolve(t, m, rows)
	for l, r := range outputs(t, newPredictor(t, m, series.Options{}), rows) {
		must.Equal(t, len(r.Forecast), 2, "forecasts")
		if r.Expected != nil || r.Scores != nil {
			t.Fatalf("row %d: expected %v, scores %v of a model that has no anomaly scores", l, r.Expected, r.Scores)
		}
		for o, v := range r.Forecast {
			scale, _ := m.Meta.OutputScale(o)
			if d := math.Abs(v-want[o*length+l]) / float64(scale); !(d < 1e-5) {
				t.Errorf("row %d, target %d: %v, convolution mode gives %v: %.2g deviations", l, o, v, want[o*length+l], d)
			}
		}
	}
}

// A classification and a regression of the rows so far equal those of convolution mode, and of
// package recurrent bit for bit.
func TestSoFar(t *testing.T) {
	rows := newRows(200)
	for _, mode := range []string{model.SeriesClassification, model.SeriesRegression} {
		m := newModel(t, mode)
		got := outputs(t, newPredictor(t, m, series.Options{}), rows)
		net := must.Get(recurrent.New(m, recurrent.Options{Normalize: true, Posterior: mode == model.SeriesClassification}))(t).NewStream()
		for l, row := range rows {
			if want := net.Step(row); !slices.Equal(got[l].Output, want) {
				t.Fatalf("%s, row %d: %v, package recurrent gives %v", mode, l, got[l].Output, want)
			}
		}
		want := convolve(t, m, rows)
		if mode == model.SeriesClassification {
			p := model.Posterior(nil, []float32{float32(want[0]), float32(want[1])})
			want = []float64{float64(p[0]), float64(p[1])}
		}
		for o, v := range got[len(rows)-1].Output {
			if scale, _ := m.Meta.OutputScale(o); math.Abs(float64(v)-want[o]) > 1e-5*float64(scale) {
				t.Errorf("%s, output %d: %v, convolution mode gives %v", mode, o, v, want[o])
			}
		}
	}
}

// A window makes an old row irrelevant.
func TestWindow(t *testing.T) {
	m, rows := newModel(t, model.SeriesRegression), newRows(2000)
	short := outputs(t, newPredictor(t, m, series.Options{Window: 64}), rows)
	all := outputs(t, newPredictor(t, m, series.Options{}), rows)
	if slices.Equal(short[1999].Output, all[1999].Output) {
		t.Error("a window of 64 rows does not change the output after 2000 rows")
	}
	must.Reject(series.New(newModel(t, model.SeriesForecast), series.Options{Window: 64}))(t, "series: recurrent: window 64: the network's pool is \"none\"")
}

// Offsets of columns are subtracted from rows and added to forecasts in float64.
func TestOffsets(t *testing.T) {
	rows := newRows(20)
	for _, mode := range []string{model.SeriesForecast, model.SeriesAnomaly} {
		m := newModel(t, mode)
		want := outputs(t, newPredictor(t, m, series.Options{}), rows)
		m.Meta.Series.Offsets = []float64{1 << 40, 0, -3}
		s := newPredictor(t, m, series.Options{}).NewStream()
		for l, row := range rows {
			row := wide(row)
			row[0], row[2] = row[0]+1<<40, row[2]-3
			r := must.Get(s.Step(row))(t)
			for o, offset := range []float64{1 << 40, -3} { // of columns 0 and 2
				if d := r.Forecast[o] - offset - want[l].Forecast[o]; math.Abs(d) > 1e-2 {
					t.Fatalf("%s, row %d, target %d: forecast %v, expected %v more than %v", mode, l, o, r.Forecast[o], offset, want[l].Forecast[o])
				}
			}
			if r.Expected != nil && math.Abs(r.Expected[1]+3-want[l].Expected[1]) > 1e-4 {
				t.Fatalf("row %d: expected %v, without offsets %v", l, r.Expected, want[l].Expected)
			}
		}
	}
}

// The scores are those of the forecasts of the mode forecast, made Horizon rows before.
func TestAnomaly(t *testing.T) {
	rows := newRows(300)
	rows[200][2] += 0.05 // 50 deviations
	rows[210] = []float32{1013, -3, float32(math.NaN())}
	m := newModel(t, model.SeriesAnomaly)
	m.Meta.Series.Missing = model.MissingPrevious
	forecaster := newModel(t, model.SeriesForecast)
	forecaster.Meta.Series.Missing = model.MissingPrevious
	forecasts := outputs(t, newPredictor(t, forecaster, series.Options{}), rows)
	residual := float64(m.Meta.Series.Residual[1])
	square := []float64{9, residual * residual}
	for l, r := range outputs(t, newPredictor(t, m, series.Options{}), rows) {
		if !slices.Equal(r.Forecast, forecasts[l].Forecast) {
			t.Fatalf("row %d: forecast %v, expected %v", l, r.Forecast, forecasts[l].Forecast)
		}
		if l < 7 {
			if r.Expected != nil || r.Scores != nil {
				t.Errorf("row %d: scores %v before the first forecast", l, r.Scores)
			}
			continue
		}
		if want := forecasts[l-7].Forecast; !slices.Equal(r.Expected, want) {
			t.Fatalf("row %d: expected %v, the forecast was %v", l, r.Expected, want)
		}
		for o, c := range []int{0, 2} {
			e := float64(rows[l][c]) - float64(r.Expected[o])
			want := math.Abs(e) / math.Sqrt(square[o])
			if got := r.Scores[o]; math.Abs(got-want) > 1e-9*want && !(l == 210 && o == 1 && got != got) {
				t.Errorf("row %d, target %d: score %v, expected %v", l, o, got, want)
			}
			if e == e {
				square[o] += (min(e*e, 9*square[o]) - square[o]) / 50
			}
		}
		if l == 200 && (r.Scores[1] < 20 || r.Scores[0] > 10) {
			t.Errorf("scores %v of a row with 50 deviations in the second target", r.Scores)
		}
	}
}

// Without a Residual the deviation begins with that of the target; that of a perfect forecast stays
// positive.
func TestDeviation(t *testing.T) {
	m := newModel(t, model.SeriesAnomaly)
	m.Meta.Series.Residual = nil
	d := series.NewDeviation(&m.Meta, 0)
	must.Equal(t, d.Score(-4), 0.4, "score of an error of 4 with a target deviation of 10")
	for range 5000 {
		d.Score(0)
	}
	if s := d.Score(1e-5); math.Abs(s-1) > 1e-6 { // 1e-6 of the target's deviation of 10
		t.Errorf("score %v after perfect forecasts, expected 1", s)
	}
	d = series.NewDeviation(&model.Meta{}, 0)
	must.Equal(t, d.Score(2), 2, "score with a model without a description")
}

// A missing value is the one before it, at first the mean; or an error, which changes nothing.
func TestMissing(t *testing.T) {
	missing := float32(math.NaN())
	gaps := [][]float32{{missing, 1, 0.02}, {1010, missing, missing}, {missing, missing, missing}}
	filled := [][]float32{{1013, 1, 0.02}, {1010, 1, 0.02}, {1010, 1, 0.02}}
	for _, test := range []struct {
		training string
		opt      series.Options
	}{
		{model.MissingPrevious, series.Options{}}, {model.MissingInterpolate, series.Options{}},
		{model.MissingError, series.Options{Missing: model.MissingPrevious}},
	} {
		m := newModel(t, model.SeriesRegression)
		m.Meta.Series.Missing = test.training
		p := newPredictor(t, m, test.opt)
		got, want := outputs(t, p, gaps), outputs(t, p, filled)
		must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "missing %q, options %+v: outputs", test.training, test.opt)
	}
	s := newPredictor(t, newModel(t, model.SeriesRegression), series.Options{}).NewStream()
	must.Get(s.Step(wide(filled[0])))(t)
	before := string(s.Snapshot(nil))
	for _, test := range []struct {
		row    []float32
		column int
		want   string
	}{
		{gaps[1], 1, "series: column 2: the value is missing, expected a number as in training"},
		{[]float32{1, 2, float32(math.Inf(-1))}, 2, "series: column 3: the value is -Inf, expected a finite number"},
	} {
		_, err := s.Step(wide(test.row))
		var column *series.ColumnError
		if !errors.As(err, &column) || column.Column != test.column {
			t.Errorf("error %v, expected one of column %d", err, test.column)
		}
		must.Fail(t, err, test.want)
	}
	must.Equal(t, string(s.Snapshot(nil)), before, "state after errors")
}

// Values at which the network overflows are an error, not an output.
func TestOverflow(t *testing.T) {
	s := newPredictor(t, newModel(t, model.SeriesForecast), series.Options{}).NewStream()
	must.Reject(s.Step([]float64{3e38, 0, 3e38}))(t, "series: after row 1: output 1 of the network is NaN, expected a finite number")
	s.Reset()
	must.Get(s.Step(wide(newRows(1)[0])))(t)
}

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*model.Model)
		opt    series.Options
		want   string
	}{
		{"tokens", func(m *model.Model) {
			c := m.Config
			c.Encoder, c.DInput = model.EncoderEmbedding, 5
			*m = *must.Get(model.New(c, 1))(t)
		}, series.Options{}, "series: the network reads tokens, expected one that reads rows of numbers"},
		{"audio", func(m *model.Model) {
			c := m.Config
			c.DInput = 1
			*m = *must.Get(model.New(c, 1))(t)
			m.Meta.SampleRate = 8000
		}, series.Options{}, "series: the network reads audio at 8000 Hz, expected one that reads rows"},
		{"missing", func(*model.Model) {}, series.Options{Missing: "zero"}, `series: missing "zero": expected "previous"`},
		{"horizon", func(m *model.Model) {
			m.Meta.Series.Mode, m.Meta.Series.Horizon = model.SeriesAnomaly, model.MaxHorizon
		}, series.Options{}, "series: horizon 16777216 of 2 targets: expected a product of at most 16777216"},
	} {
		m := newModel(t, model.SeriesRegression)
		test.change(m)
		must.Reject(series.New(m, test.opt))(t, test.want)
	}
}

// A model that stores no description of its rows is streamed by its labels or targets.
func TestNoDescription(t *testing.T) {
	for _, want := range []string{model.SeriesClassification, model.SeriesRegression} {
		m := newModel(t, want)
		described := outputs(t, newPredictor(t, m, series.Options{}), newRows(10))
		m.Meta.Series = nil
		p := newPredictor(t, m, series.Options{})
		must.Equal(t, p.Mode(), want, "mode")
		must.Equal(t, fmt.Sprint(outputs(t, p, newRows(10))), fmt.Sprint(described), "%s: outputs", want)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, mode := range model.SeriesModes() {
		s, row := newPredictor(t, newModel(t, mode), series.Options{}).NewStream(), wide(newRows(1)[0])
		must.Equal(t, testing.AllocsPerRun(10, func() {
			if _, err := s.Step(row); err != nil {
				t.Fatal(err)
			}
		}), 0, "%s: allocations", mode)
	}
}

// A stream takes the memory that StreamBytes returns, and at most an eighth more.
func TestStreamBytes(t *testing.T) {
	for _, mode := range model.SeriesModes() {
		m := newModel(t, mode)
		if mode == model.SeriesAnomaly {
			m.Meta.Series.Horizon = 1000
		}
		p := newPredictor(t, m, series.Options{})
		streams := make([]*series.Stream, 100)
		got := float64(must.Allocated(func() {
			for i := range streams {
				streams[i] = p.NewStream()
			}
		})) / 100
		want := float64(p.StreamBytes())
		if got < want || got > 1.125*want {
			t.Errorf("%s: a stream takes %.0f bytes, StreamBytes says %.0f", mode, got, want)
		}
	}
}
