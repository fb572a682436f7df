package report

import "encoding/json"

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
	Type      string    `json:"type"`
	Row       int64     `json:"row"` // in its series, from 1
	ID        string    `json:"id,omitempty"`
	Time      string    `json:"time,omitempty"`
	Label     string    `json:"label,omitempty"`
	Posterior []float32 `json:"posterior,omitempty"`
	Output    []float32 `json:"output,omitempty"`
	Forecast  []Number  `json:"forecast,omitempty"`
	Score     *Number   `json:"score,omitempty"`  // the largest of Scores
	Scores    []Number  `json:"scores,omitempty"` // per target; null: none
	Expected  []Number  `json:"expected,omitempty"`
}

// Number is a number in JSON. NaN and infinities are null, and a float32 is printed as one.
type Number float64

// Numbers returns a list of numbers.
func Numbers[T float32 | float64](values []T) (list []Number) {
	for _, v := range values {
		list = append(list, Number(v))
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float32(n); {
	case n-n != 0:
		return []byte("null"), nil
	case Number(v) == n:
		return json.Marshal(v)
	}
	return json.Marshal(float64(n))
}

// SetScores sets Score and Scores. Score is absent if no score is a number.
func (r *Row) SetScores(scores []float64) {
	r.Score, r.Scores = nil, Numbers(scores)
	for _, v := range r.Scores {
		if v == v && (r.Score == nil || v > *r.Score) {
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
