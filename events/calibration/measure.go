// Package calibration measures how well a model detects words in streams, and chooses its options
// for package events: those that miss the fewest words with at most a given number of false alarms
// per hour.
//
// There are two kinds of streams. Streams of words (WordStreams) consist of clips of known words
// with gaps, in noise; a word without an event is missed. Background (BackgroundStreams) contains
// none of the words, so every event is a false alarm. Measure reads each stream once and tries many
// options on it (events.Sweep). It processes the audio while it reads it, so background may be
// hours long.
package calibration

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

// Stream is a stream of audio whose words are known.
type Stream struct {
	Name       string   // for errors
	Background string   // name of the background that the stream is a part of, such as a folder
	Files      []string // from which the stream is read
	Words      []Word   // in the order of their onsets; none: every event is a false alarm
	Open       func() (Audio, error)
}

// Options are the options of Measure. Start from Defaults.
type Options struct {
	Candidates []events.Options // to try
	Tolerance  float64          // largest distance in seconds between a word and its event, if they do not overlap
	Workers    int              // streams processed at the same time; 0: one per processor
	List       int              // number of false alarms and of missed words to list per candidate: Point.Alarms, Point.Lost
	Progress   func(Progress)   // called after each block and each stream, by one goroutine at a time; may be nil
}

// Defaults returns options that try Candidates(base), with a tolerance of 0.3 s.
func Defaults(base events.Options) Options {
	return Options{Candidates: Candidates(base), Tolerance: 0.3}
}

// Progress is the amount that has been measured.
type Progress struct {
	Streams, Of int     // number of streams measured, and of all streams
	Seconds     float64 // of audio
}

// Measurement is the result of Measure.
type Measurement struct {
	Labels  []string // of the model
	Words   []int    // number of words of each label
	Seconds float64  // of the streams of words
	Points  []Point  // one per candidate
	Skipped []error  // files that could not be read
}

// Point is the result of Measure for one of the candidates.
type Point struct {
	Options     events.Options
	Offsets     []float64    // added to the log-odds of the model's labels (model.Detection.Offsets); nil: none
	Score                    // in the streams of words
	MissedWords []int        // number of missed words of each label
	Latency     []float64    // seconds from the end of each word that is found until its event is reported, ascending
	Backgrounds []Background // in the order of the streams
	Alarms      []Alarm      // false alarms in descending order of confidence; at most Options.List
	Lost        []Word       // missed words in the order of the streams; at most Options.List
}

// Background is the part of the background with one name, and what was counted there.
type Background struct {
	Name        string  `json:"name"`
	Hours       float64 `json:"hours"`
	FalseAlarms int     `json:"-"` // number of events
	ByLabel     []int   `json:"-"` // the same by label
}

// result is what was detected in one stream.
type result struct {
	seconds float64
	events  [][]int     // per candidate, with each of the model's labels
	scores  []Score     // of words, per candidate
	latency [][]float64 // in seconds, per candidate and word; NaN: missed
	skipped []error
}

// Measure processes streams of words and of background with all candidates. The model must have the
// labels of all words, which Clips sees to. The result does not depend on the number of workers. If
// streams cannot be read, the error is that of one of them. If ctx is cancelled, the error is its
// cause.
func Measure(ctx context.Context, m *model.Model, streams []Stream, opt Options) (*Measurement, error) {
	r, err := events.New(m, events.DefaultsFor(m))
	if err != nil {
		return nil, err
	}
	run := run{
		recognizer: r, opt: opt, streams: streams, labels: m.Meta.Labels,
		results: make([]result, len(streams)), alarms: make([]ranking, len(opt.Candidates)), progress: Progress{Of: len(streams)},
	}
	if m.Meta.Detection != nil {
		run.offsets = m.Meta.Detection.Offsets
	}
	err = par.Each(ctx, opt.Workers, len(streams), func(ctx context.Context, i int) error {
		defer run.report(1, 0)
		if err := run.measure(ctx, i); err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return run.collect(), nil
}

// run is the state of a call of Measure.
type run struct {
	recognizer *events.Recognizer
	opt        Options
	streams    []Stream
	labels     []string  // of the model
	offsets    []float64 // of the labels; nil: none
	results    []result

	mu       sync.Mutex
	progress Progress
	alarms   []ranking // per candidate
}

// blockLen is the number of samples that are read at a time.
const blockLen = 1 << 13

// measure measures one stream, or a part of it if ctx is cancelled.
func (r *run) measure(ctx context.Context, i int) error {
	s, res := &r.streams[i], &r.results[i]
	in, err := s.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	sweep, err := r.recognizer.NewSweep(r.opt.Candidates)
	if err != nil {
		return err
	}
	list := make([][]events.Event, len(r.opt.Candidates)) // in streams of words
	at := make([][]int64, len(r.opt.Candidates))          // samples after which they are reported
	res.events = make([][]int, len(r.opt.Candidates))
	for c := range res.events {
		res.events[c] = make([]int, len(r.labels))
	}
	take := func(found []events.Found, err error) error {
		for _, f := range found {
			res.events[f.Option][slices.Index(r.labels, f.Label)]++
			if len(s.Words) > 0 {
				list[f.Option], at[f.Option] = append(list[f.Option], f.Event), append(at[f.Option], f.At)
			} else {
				r.alarm(in, i, f)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		return nil
	}
	buf, samples := make([]float32, blockLen), 0
	for end := false; !end && ctx.Err() == nil; {
		n, err := in.Read(buf)
		if end = err == io.EOF; err != nil && !end {
			return err
		}
		samples += n
		if err := take(sweep.Process(buf[:n])); err != nil {
			return err
		}
		r.report(0, n)
	}
	if err := take(sweep.Flush()); err != nil {
		return err
	}
	res.seconds = float64(samples) / r.recognizer.SampleRate()
	if len(s.Words) > 0 {
		rate := r.recognizer.SampleRate()
		for c := range list {
			score, found := Compare(s.Words, list[c], int64(r.opt.Tolerance*rate))
			latency := make([]float64, len(found))
			for w, k := range found {
				latency[w] = math.NaN()
				if k >= 0 {
					latency[w] = float64(at[c][k]-s.Words[w].End) / rate
				}
			}
			res.scores, res.latency = append(res.scores, score), append(res.latency, latency)
		}
	}
	if t, ok := in.(*tape); ok {
		res.skipped = t.skipped
	}
	return nil
}

// report adds streams and samples to the progress and passes it to the caller.
func (r *run) report(streams, samples int) {
	if r.opt.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Streams += streams
	r.progress.Seconds += float64(samples) / r.recognizer.SampleRate()
	r.opt.Progress(r.progress)
}

// collect adds up the results of the streams in their order.
func (r *run) collect() *Measurement {
	m := &Measurement{Labels: r.labels, Words: make([]int, len(r.labels))}
	for i, s := range r.streams {
		m.Skipped = append(m.Skipped, r.results[i].skipped...)
		if len(s.Words) > 0 {
			m.Seconds += r.results[i].seconds
		}
		for _, w := range s.Words {
			m.Words[slices.Index(r.labels, w.Label)]++
		}
	}
	for c := range r.opt.Candidates {
		m.Points = append(m.Points, r.point(c))
	}
	return m
}

// point adds up what one candidate found.
func (r *run) point(c int) Point {
	p := Point{Options: r.opt.Candidates[c], Offsets: r.offsets, MissedWords: make([]int, len(r.labels))}
	for _, a := range r.alarms[c] {
		p.Alarms = append(p.Alarms, a.Alarm)
	}
	for i, s := range r.streams {
		res := &r.results[i]
		if len(s.Words) == 0 {
			p.count(s.Background, res.seconds/3600, res.events[c])
			continue
		}
		p.Score.add(res.scores[c])
		for k, w := range s.Words {
			if seconds := res.latency[c][k]; seconds == seconds {
				p.Latency = append(p.Latency, seconds)
			} else {
				p.MissedWords[slices.Index(r.labels, w.Label)]++
				if len(p.Lost) < r.opt.List {
					p.Lost = append(p.Lost, w)
				}
			}
		}
	}
	slices.Sort(p.Latency)
	return p
}

// count adds a stream of background with false alarms by label.
func (p *Point) count(name string, hours float64, byLabel []int) {
	i := slices.IndexFunc(p.Backgrounds, func(b Background) bool { return b.Name == name })
	if i < 0 {
		i, p.Backgrounds = len(p.Backgrounds), append(p.Backgrounds, Background{Name: name, ByLabel: make([]int, len(byLabel))})
	}
	b := &p.Backgrounds[i]
	b.Hours += hours
	for label, n := range byLabel {
		b.FalseAlarms += n
		b.ByLabel[label] += n
	}
}
