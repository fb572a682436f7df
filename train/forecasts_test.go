package train

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/rows"
)

// waves returns a series of two columns: a wave of period 12 around 50 with noise, and one of
// period 7.
func waves(n int, seed uint64) [][]float32 {
	x := [][]float32{make([]float32, n), make([]float32, n)}
	noise := random.New(seed, random.Signal, 0, 0)
	for l := range n {
		x[0][l] = float32(50 + 20*math.Sin(2*math.Pi*float64(l)/12) + noise.Normal(uint64(l)))
		x[1][l] = float32(3 * math.Sin(2*math.Pi*float64(l)/7))
	}
	return x
}

// forecasts returns data that forecast the columns of waves, and a small network's configuration.
func forecasts(t *testing.T, mode string) (*dataset.Dataset, Config) {
	t.Helper()
	opt := rows.Options{Mode: mode, Horizon: 4, Season: 12, Window: 300, Seed: 3, Targets: []string{"b", "a"}}
	d := must.Get(rows.FromSeries([]rows.Series{
		{ID: "long", Values: waves(1500, 1), Split: "train"}, {ID: "other", Values: waves(300, 2), Split: "val"},
	}, []string{"a", "b"}, opt))(t)
	c := Default()
	c.Seed, c.Workers = 3, 1
	c.Model.DModel, c.Model.NLayers, c.SSM.DState, c.SSM.Bidirectional = 8, 2, 16, false
	c.Train.Epochs, c.Train.Batch, c.Optim.LR = 6, 8, 0.02
	return d, c
}

// A forecast is trained in the target's unit. Its errors are compared with those of naive forecasts
// on the same rows, and the model has those of its targets.
func TestForecasts(t *testing.T) {
	d, c := forecasts(t, model.SeriesForecast)
	tr := must.Get(New(t.Context(), c, d, Options{}))(t)
	must.Do(t, tr.Fit(t.Context()))
	m := tr.Best()
	list := must.Get(CompareForecasts(t.Context(), m, d.Val, EvalOptions{Info: d.Info}))(t)
	x := waves(300, 2)
	for o, column := range [][]float32{x[1], x[0]} {
		var squares, sizes, ago float64
		n := 0
		for row := 12; row < 300; row++ { // the first row with a value one season before
			e := float64(column[row-4]) - float64(column[row])
			squares, sizes, n = squares+e*e, sizes+math.Abs(e), n+1
			ago += math.Pow(float64(column[row-12])-float64(column[row]), 2)
		}
		got := list[o]
		if got.N != n || got.Target != []string{"b", "a"}[o] || got.Horizon != 4 || got.Season != 12 {
			t.Errorf("target %d: %+v, expected %d rows", o, got, n)
		}
		for _, v := range [][2]float64{{got.Last.RMSE, math.Sqrt(squares / float64(n))}, {got.Last.MAE, sizes / float64(n)}, {got.SeasonAgo.RMSE, math.Sqrt(ago / float64(n))}} {
			if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
				t.Errorf("target %d: naive errors %+v and %+v, expected %v", o, got.Last, got.SeasonAgo, v[1])
			}
		}
		if !(got.Network.RMSE < 0.7*got.Last.RMSE) || !(got.Network.MAE < got.Network.RMSE) {
			t.Errorf("target %d: errors of the network %+v, of the last value %+v", o, got.Network, got.Last)
		}
	}
	r := must.Get(Evaluate(t.Context(), m, d.Val, EvalOptions{Info: d.Info}))(t)
	for o, rmse := range r.OutputRMSE {
		must.Equal(t, m.Meta.Series.Residual[o], float32(rmse), "residual of target %d", o)
	}
	if mean := math.Sqrt((r.OutputRMSE[0]*r.OutputRMSE[0] + r.OutputRMSE[1]*r.OutputRMSE[1]) / 2); math.Abs(mean-r.RMSE) > 1e-9*mean {
		t.Errorf("RMSE %v, of the outputs %v", r.RMSE, r.OutputRMSE)
	}
	if d.Series.Residual != nil {
		t.Error("training changed the description of the data")
	}
	var b bytes.Buffer
	must.Do(t, WriteForecastErrors(&b, []ForecastErrors{{Target: "a", Horizon: 1, Season: 12, N: 5, Network: RowErrors{1, 0.5}, Last: RowErrors{20, 10}, SeasonAgo: &RowErrors{3, 2.25}}}))
	must.Equal(t, b.String(), `a, 1 row ahead, 5 values             RMSE        MAE
network                                 1        0.5
last value                             20         10
value one season (12 rows) ago          3       2.25
`, "table")
	must.Reject(CompareForecasts(t.Context(), m, d.Val, EvalOptions{}))(t, ErrData, "expected forecasts of rows")
}

// A forecast that a stream computes row by row equals the one in convolution mode to 1e-5 of the
// target's deviation.
func TestForecastsOfStreams(t *testing.T) {
	d, c := forecasts(t, model.SeriesAnomaly)
	c.Train.MaxSteps = 4
	tr := must.Get(New(t.Context(), c, d, Options{}))(t)
	must.Do(t, tr.Fit(t.Context()))
	m := tr.Best()
	must.Equal(t, m.Config.Pool, model.PoolNone, "pool")
	var p Prediction
	_, err := Evaluate(t.Context(), m, d.Val, EvalOptions{Info: d.Info, Each: func(got Prediction) error { p = got; return nil }})
	must.Do(t, err)
	n := len(p.Logits) / 2
	must.Equal(t, n, 296, "rows of the example")
	s := must.Get(series.New(m, series.Options{}))(t).NewStream()
	x, worst := waves(300, 2), 0.0
	deviation := series.NewDeviation(&m.Meta, 0)
	for l := range 300 {
		r := must.Get(s.Step([]float64{float64(x[0][l]), float64(x[1][l])}))(t)
		if l < n {
			for o, v := range r.Forecast {
				worst = max(worst, math.Abs(v-float64(p.Logits[o*n+l]))/float64(m.Meta.TargetStd[o]))
			}
		}
		if l < 4 {
			continue
		}
		want := deviation.Score(float64(x[1][l]) - float64(p.Logits[l-4])) // from the forecasts in convolution mode
		if math.Abs(r.Scores[0]-want) > 1e-3*(1+want) {
			t.Errorf("row %d: score %v, expected %v", l, r.Scores[0], want)
		}
	}
	t.Logf("largest difference %.1e of the deviation", worst)
	if worst > 1e-5 {
		t.Errorf("forecasts of a stream differ by %.1e of the deviation from those in convolution mode, expected ≤ 1e-5", worst)
	}
}

// A network that reads later rows cannot forecast.
func TestForecastsAreCausal(t *testing.T) {
	d, c := forecasts(t, model.SeriesForecast)
	c.SSM.Bidirectional = true
	must.Reject(New(context.Background(), c, d, Options{}))(t, ErrConfig, "ssm.bidirectional")
}
