package series_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/series"
)

// persistence returns a handmade model whose forecast is the present value.
func persistence(meta model.Meta) (*model.Model, error) {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers = len(meta.Series.Columns), len(meta.Series.Targets), len(meta.Series.Columns), 1
	c.Norm, c.Mixing, c.Pool = model.NormNone, model.MixingNone, model.PoolNone
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	m.Weights.Zero() // the block passes its input on
	for i := range c.DInput {
		m.Weights.EncoderWeight[i*c.DInput+i] = 1
	}
	for o := range meta.Series.Targets {
		m.Weights.DecoderWeight[o*c.DModel+meta.Series.TargetColumn(o)] = 1
	}
	m.Meta = meta
	return m, nil
}

// Every row is scored by how far it is from the forecast that was made of it.
func Example() {
	m, err := persistence(model.Meta{Series: &model.Series{
		Mode: model.SeriesAnomaly, Columns: []string{"temp", "load"}, Targets: []string{"temp"},
		Horizon: 1, Window: 100, Residual: []float32{0.5},
	}}) // a trained model is read by model.Load
	if err != nil {
		log.Fatal(err)
	}
	p, err := series.New(m, series.Options{}) // shared by all series
	if err != nil {
		log.Fatal(err)
	}
	s := p.NewStream()
	for _, row := range [][]float64{{20, 1}, {20.5, 1}, {20.25, 1}, {26, 1}} {
		r, err := s.Step(row)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("row %d: temp %g, expected %v, score %.1f\n", s.Rows(), row[0], r.Expected, r.Scores)
	}
	// Output:
	// row 1: temp 20, expected [], score []
	// row 2: temp 20.5, expected [20], score [1.0]
	// row 3: temp 20.25, expected [20.5], score [0.5]
	// row 4: temp 26, expected [20.25], score [11.5]
}
