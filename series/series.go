// Package series runs a model on rows of columns, row by row: it classifies a series, estimates
// numbers of it, forecasts columns, or scores how unusual a row is.
//
// Rows are in the unit of the training data, in the order of model.Series.Columns, and outputs are
// in the unit of the target. NaN is a missing value. A row costs the same however long the series.
// A stream gives the bits that package recurrent gives for the whole series at once.
//
// A Predictor holds a model and options and is shared. A Stream is the state of one series; its
// Snapshot continues in another process (docs/stream.md describes the format).
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
	// Window is the number of rows that the mean pool of a classification or a regression looks
	// back (recurrent.Options.Window). 0: all since the start.
	Window int
	// Missing is what replaces a missing value. "" follows the training (model.Series.Missing):
	// where values were replaced there, by the value before them or by interpolation, a stream
	// takes the value before, because it does not know later ones; otherwise a missing value is an
	// error. model.MissingPrevious always takes the value before. In front of a column's first
	// value that is its mean in training.
	Missing string
}

// Predictor is a model prepared with options. It is immutable and shared by any number of streams.
type Predictor struct {
	net     *recurrent.Network
	meta    model.Meta
	series  model.Series
	fill    []float32 // [columns] what replaces a value before the first; nil: an error
	targets []int     // columns of an anomaly model's targets
}

// maxPending bounds the forecasts that a stream keeps until their rows arrive.
const maxPending = 1 << 24

// New prepares a model. Models that a stream of rows cannot run are an error: those of audio, of
// tokens, of pairs, and those that package recurrent rejects.
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
	if p.Mode() == model.SeriesAnomaly {
		for o := range p.series.Targets {
			p.targets = append(p.targets, p.series.TargetColumn(o))
		}
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

// Mode returns what the network computes, one of model.SeriesModes. Of a model that stores no
// description of its rows it is a classification if it has labels, and otherwise a regression.
func (p *Predictor) Mode() string { return p.series.Mode }

// StreamBytes returns what a Stream takes in memory. The working memory of a call is shared.
func (p *Predictor) StreamBytes() int {
	pending, targets := p.series.Horizon*len(p.targets), len(p.targets)
	return int(unsafe.Sizeof(Stream{})) + p.net.StreamBytes() + 4*2*p.inputs() + 4*(pending+targets) +
		targets*(8+int(unsafe.Sizeof(Deviation{})))
}

func (p *Predictor) inputs() int { return p.net.Inputs() }

// Result is what Step computes. Its slices are valid until the next call.
type Result struct {
	// Output of a classification is the probability of each label, of a regression the value of
	// each target, both for all rows so far or for the last Options.Window. Of a forecast it is the
	// value of each target model.Series.Horizon rows after this one.
	Output []float32
	// Expected is, for the mode anomaly, the forecast of this row for each target, made Horizon
	// rows before. It is nil in the first Horizon rows.
	Expected []float32
	// Scores are the differences between the row and Expected, in units of their running deviation
	// (Deviation). A score is NaN where the value is missing.
	Scores []float64
}

// Stream is the state of one series. It belongs to one goroutine at a time.
type Stream struct {
	*Predictor
	stream     *recurrent.Stream
	row, last  []float32 // [columns] this row and the one before, without missing values
	pending    []float32 // [Horizon][targets] forecasts of later rows
	expected   []float32 // [targets]
	scores     []float64 // [targets]
	deviations []Deviation
}

// NewStream starts a series.
func (p *Predictor) NewStream() *Stream {
	s := &Stream{
		Predictor: p, stream: p.net.NewStream(), row: make([]float32, p.inputs()), last: make([]float32, p.inputs()),
		pending:  make([]float32, p.series.Horizon*len(p.targets)),
		expected: make([]float32, len(p.targets)), scores: make([]float64, len(p.targets)),
		deviations: make([]Deviation, len(p.targets)),
	}
	s.Reset()
	return s
}

// Reset makes the stream equal to a new one.
func (s *Stream) Reset() {
	s.stream.Reset()
	clear(s.last)
	clear(s.pending)
	copy(s.last, s.fill)
	for o := range s.deviations {
		s.deviations[o] = NewDeviation(&s.meta, o)
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

// Step takes a row [columns]. A value that is infinite, or missing where that is not allowed, is a
// *ColumnError, which leaves the stream as it was. If the network's output is NaN or infinite, as
// with values far outside the training data, Step returns an error and the stream must be Reset.
func (s *Stream) Step(row []float32) (Result, error) {
	if len(row) != len(s.row) {
		panic(fmt.Sprintf("series: a row of %d values, expected %d columns", len(row), len(s.row)))
	}
	for c, v := range row {
		switch {
		case math.IsInf(float64(v), 0):
			return Result{}, &ColumnError{c, fmt.Errorf("the value is %v, expected a finite number", v)}
		case v == v:
			s.row[c] = v
		case s.fill == nil:
			return Result{}, &ColumnError{c, errMissing}
		default:
			s.row[c] = s.last[c]
		}
	}
	at := s.Rows()
	r := Result{Output: s.stream.Step(s.row)}
	copy(s.last, s.row)
	for o, v := range r.Output {
		if v-v != 0 {
			return Result{}, fmt.Errorf("series: after row %d: output %d of the network is %v, expected a finite number", s.Rows(), o+1, v)
		}
	}
	if len(s.targets) == 0 {
		return r, nil
	}
	n := len(s.targets)
	slot := int(at % int64(s.series.Horizon))
	forecast := s.pending[slot*n : (slot+1)*n]
	if at >= int64(s.series.Horizon) {
		copy(s.expected, forecast)
		for o, c := range s.targets {
			s.scores[o] = s.deviations[o].Score(float64(row[c]) - float64(s.expected[o]))
		}
		r.Expected, r.Scores = s.expected, s.scores
	}
	copy(forecast, r.Output)
	return r, nil
}
