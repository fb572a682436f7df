package report

import (
	"encoding/json"
	"math"
)

// RowStart is the first line of a stream of rows.
type RowStart struct {
	Type    string   `json:"type"`
	Format  string   `json:"format"`
	Model   string   `json:"model"`
	Task    string   `json:"task,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Level   string   `json:"level"`
	Emit    string   `json:"emit"`
	Mode    string   `json:"mode"`
	Columns []string `json:"columns"` // of the input that the model reads, in its order
	Targets []string `json:"targets,omitempty"`
	Horizon int      `json:"horizon,omitempty"` // rows
	Hop     int      `json:"hop"`               // rows
	ID      string   `json:"id,omitempty"`      // column
}

// Row is the line of a row.
type Row struct {
	Type      string     `json:"type"`
	Row       int64      `json:"row"` // in its series, from 1
	ID        string     `json:"id,omitempty"`
	Time      string     `json:"time,omitempty"`
	Label     string     `json:"label,omitempty"`
	Posterior []float32  `json:"posterior,omitempty"`
	Output    []float32  `json:"output,omitempty"`
	Forecast  []Number   `json:"forecast,omitempty"`
	Score     *float64   `json:"score,omitempty"`  // the largest of Scores
	Scores    []*float64 `json:"scores,omitempty"` // per target; null: none
	Expected  []Number   `json:"expected,omitempty"`
}

// Number is a number of a forecast. One that is a float32 is printed as that.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float32(n); Number(v) == n {
		return json.Marshal(v)
	}
	return json.Marshal(float64(n))
}

// SetScores sets Score and Scores. A score that is NaN is null; Score is absent if all are.
func (r *Row) SetScores(scores []float64) {
	r.Score, r.Scores = nil, nil
	for _, v := range scores {
		if math.IsNaN(v) {
			r.Scores = append(r.Scores, nil)
			continue
		}
		r.Scores = append(r.Scores, &v)
		if r.Score == nil || v > *r.Score {
			r.Score = &v
		}
	}
}

// RowEnd is the last line of a stream of rows.
type RowEnd struct {
	Type    string    `json:"type"`
	Rows    int64     `json:"rows"`
	Series  int       `json:"series"`
	Seconds float64   `json:"seconds"` // of computing
	RowTime Quantiles `json:"row_time"`
}
