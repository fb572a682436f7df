// Package series runs a model on a series of rows of numbers, row by row. It classifies the series,
// estimates numbers for it, forecasts columns, or scores how unusual each row is.
//
// A row has the columns of model.Series.Columns in their order, in the units of the training data.
// Outputs are in the unit of the target. NaN is a missing value. The cost of a row does not depend
// on the length of the series. The results are bit-identical to those of package recurrent for the
// whole series at once.
//
// A Predictor is a model with options; any number of streams share it. A Stream is the state of one
// series. A Snapshot of it can be restored in another process.
package series

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// Options of a Predictor.
type Options struct {
	// Window is the number of last rows that the mean pool of a classification or a regression
	// averages over (recurrent.Options.Window). 0: all rows since the start.
	Window int
	// Missing selects the replacement of missing values. With model.MissingPrevious, the value
	// before a missing value in its column replaces it; before the column's first value, the mean
	// of the column in training does. "" is the same if missing values were replaced in training
	// (model.Series.Missing), also if that was by interpolation, because a stream does not know
	// later values. Otherwise, with "", missing values are errors.
	Missing string
}

// Predictor is a model prepared with options. It is immutable; any number of Streams share it.
type Predictor struct {
	net     *recurrent.Network
	meta    model.Meta
	series  model.Series
	fill    []float32 // [columns] replacements before the first value; nil: missing values are errors
	targets []int     // columns of the targets of a forecast or an anomaly model
	scored  int       // number of targets whose values are scored
}

// maxPending bounds the forecasts that a stream keeps until their rows arrive.
const maxPending = 1 << 24

// New prepares a model. It returns an error for models that do not read rows, such as those of
// audio, of tokens or of pairs, and for those that package recurrent rejects.
func New(m *model.Model, opt Options) (*Predictor, error) {
	p := &Predictor{meta: m.Meta}
	switch d := &m.Meta; {
	case m.Config.Encoder != model.EncoderLinear:
		return nil, fmt.Errorf("series: the network reads tokens, expected one that reads rows of numbers")
	case d.Filterbank != nil || d.Series == nil && d.SampleRate > 0 && m.Config.DInput == 1:
		return nil, fmt.Errorf("series: the network reads audio at %g Hz, expected one that reads rows", d.SampleRate)
	case opt.Missing != "" && opt.Missing != model.MissingPrevious:
		return nil, fmt.Errorf("series: missing %q: expected %q", opt.Missing, model.MissingPrevious)
	case d.Series != nil:
		p.series = *d.Series
	case len(d.Labels) > 0:
		p.series.Mode = model.SeriesClassification
	default:
		p.series.Mode = model.SeriesRegression
	}
	if p.series.Missing != model.MissingError || opt.Missing != "" {
		p.fill = make([]float32, m.Config.DInput)
		copy(p.fill, m.Meta.InputMean)
	}
	if p.Mode() == model.SeriesForecast || p.Mode() == model.SeriesAnomaly {
		for o := range p.series.Targets {
			p.targets = append(p.targets, p.series.TargetColumn(o))
		}
	}
	if p.Mode() == model.SeriesAnomaly {
		p.scored = len(p.targets)
		if n := p.series.Horizon * len(p.targets); n > maxPending {
			return nil, fmt.Errorf("series: horizon %d of %d targets: expected a product of at most %d", p.series.Horizon, len(p.targets), maxPending)
		}
	}
	var err error
	p.net, err = recurrent.New(m, recurrent.Options{
		Window: opt.Window, Normalize: true, Posterior: p.Mode() == model.SeriesClassification,
	})
	if err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	return p, nil
}

// Mode returns what the network computes, one of model.SeriesModes. For a model without a
// description of its rows (model.Meta.Series), it is a classification if the model has labels, and
// otherwise a regression.
func (p *Predictor) Mode() string { return p.series.Mode }

// StreamBytes returns the memory of a Stream in bytes. Streams share the working memory of calls.
func (p *Predictor) StreamBytes() int {
	return int(unsafe.Sizeof(Stream{})) + p.net.StreamBytes() + 4*2*p.inputs() + 8*len(p.targets) +
		p.scored*(4*p.series.Horizon+2*8+int(unsafe.Sizeof(Deviation{})))
}

func (p *Predictor) inputs() int { return p.net.Inputs() }

// Result is the result of Step. Its slices are valid until the next call.
type Result struct {
	// Output is, for a classification, the probability of each label and, for a regression, the
	// value of each target, both over all rows so far or over the last Options.Window rows.
	Output []float32
	// Forecast is, in the modes forecast and anomaly, the value of each target model.Series.Horizon
	// rows after this one.
	Forecast []float64
	// Expected is, in the mode anomaly, the forecast of each target for this row, which was made
	// Horizon rows earlier. It is nil in the first Horizon rows.
	Expected []float64
	// Scores are the differences between the row and Expected, in units of their running deviation
	// (Deviation). A score is NaN where the value is missing.
	Scores []float64
}

// Stream is the state of one series. It belongs to one goroutine at a time.
type Stream struct {
	predictor  *Predictor
	stream     *recurrent.Stream
	row, last  []float32 // [columns] this row and the one before, without missing values
	pending    []float32 // [Horizon][targets] forecasts of later rows, without the columns' offsets
	forecast   []float64 // [targets]
	expected   []float64 // [targets]
	scores     []float64 // [targets]
	deviations []Deviation
}

// NewStream starts a series.
func (p *Predictor) NewStream() *Stream {
	s := &Stream{
		predictor: p, stream: p.net.NewStream(), row: make([]float32, p.inputs()), last: make([]float32, p.inputs()),
		pending:  make([]float32, p.series.Horizon*p.scored),
		forecast: make([]float64, len(p.targets)), expected: make([]float64, p.scored), scores: make([]float64, p.scored),
		deviations: make([]Deviation, p.scored),
	}
	s.Reset()
	return s
}

// Reset makes the stream equal to a new one.
func (s *Stream) Reset() {
	s.stream.Reset()
	clear(s.last)
	clear(s.pending)
	copy(s.last, s.predictor.fill)
	for o := range s.deviations {
		s.deviations[o] = NewDeviation(&s.predictor.meta, o)
	}
}

// Rows returns the number of rows since the start.
func (s *Stream) Rows() int64 { return s.stream.Position() }

// ColumnError is an error of one value of a row.
type ColumnError struct {
	Column int // index in the row
	Err    error
}

func (e *ColumnError) Error() string { return fmt.Sprintf("series: column %d: %v", e.Column+1, e.Err) }

// Unwrap returns Err.
func (e *ColumnError) Unwrap() error { return e.Err }

// Step processes a row [columns]. If a value is infinite, or missing without a replacement, the
// error is a *ColumnError, and the stream is unchanged. If the network's output is NaN or infinite,
// as for values far outside the training data, Step returns an error, and the stream must be Reset.
func (s *Stream) Step(row []float64) (Result, error) {
	if len(row) != len(s.row) {
		panic(fmt.Sprintf("series: a row of %d values, expected %d columns", len(row), len(s.row)))
	}
	for c, v := range row {
		switch {
		case math.IsInf(v, 0):
			return Result{}, &ColumnError{c, fmt.Errorf("the value is %v, expected a finite number", v)}
		case v == v:
			s.row[c] = float32(v - s.predictor.series.Offset(c))
		case s.predictor.fill == nil:
			return Result{}, &ColumnError{c, errMissing}
		default:
			s.row[c] = s.last[c]
		}
	}
	at := s.Rows()
	output := s.stream.Step(s.row)
	copy(s.last, s.row)
	for o, v := range output {
		if v-v != 0 {
			return Result{}, fmt.Errorf("series: after row %d: output %d of the network is %v, expected a finite number", s.Rows(), o+1, v)
		}
	}
	p := s.predictor
	if len(p.targets) == 0 {
		return Result{Output: output}, nil
	}
	for o, c := range p.targets {
		s.forecast[o] = float64(output[o]) + p.series.Offset(c)
	}
	r := Result{Forecast: s.forecast}
	if p.scored == 0 {
		return r, nil
	}
	n := len(p.targets)
	slot := int(at % int64(p.series.Horizon))
	forecast := s.pending[slot*n : (slot+1)*n]
	if at >= int64(p.series.Horizon) {
		for o, c := range p.targets {
			s.expected[o] = float64(forecast[o]) + p.series.Offset(c)
			s.scores[o] = s.deviations[o].Score(row[c] - s.expected[o])
		}
		r.Expected, r.Scores = s.expected, s.scores
	}
	copy(forecast, output)
	return r, nil
}
