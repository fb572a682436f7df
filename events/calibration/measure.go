// Package calibration measures how well a model detects words in streams, and chooses its options
// for package events: those that miss the fewest words with at most a given number of false alarms
// per hour.
//
// There are two kinds of streams. Streams of words (WordStreams) consist of clips of known words
// with gaps, in noise; a word without an event is missed. Background (Background, Generated)
// contains none of the words, so every event is a false alarm. Measure reads each stream once and
// tries many options on it (events.Sweep). It processes the audio while it reads it, so background
// may be hours long.
package calibration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/par"
	"github.com/s4d-fast/s4d-fast/model"
)

// Stream is a stream of audio whose words are known.
type Stream struct {
	Name  string // for errors
	Group string // of background: its origin, such as a folder
	Words []Word // in the order of their onsets; none: every event is a false alarm
	Open  func() (Audio, error)
}

// Options are the options of Measure. Start from Defaults.
type Options struct {
	Candidates []events.Options // to try
	Tolerance  float64          // largest distance in seconds between the onsets of a word and of its event
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
	All     []string // the model's labels
	Labels  []string // those that occur in the streams of words, in the model's order
	Words   []int    // number of words of each of Labels
	Seconds float64  // of the streams of words
	Points  []Point  // one per candidate
	Groups  []Group  // of background, in the order of the streams
	Skipped []error  // files that could not be read
}

// Point is the result of Measure for one of the candidates.
type Point struct {
	Options     events.Options
	Offsets     []float64 // added to the log-odds of the model's labels (model.Detection.Offsets); nil: none
	Score                 // in the streams of words
	MissedWords []int     // number of missed words of each of Measurement.Labels
	FalseAlarms int       // number of events in all background
	ByGroup     []int     // FalseAlarms by group of background
	ByLabel     []int     // FalseAlarms by label of the model (Measurement.All)
	Hours       float64   // of all background
	Alarms      []Alarm   // false alarms in descending order of confidence; at most Options.List
	Lost        []Word    // missed words in the order of the streams; at most Options.List
}

// Group is a part of the background: all streams with the same Stream.Group.
type Group struct {
	Name    string
	Seconds float64
}

// result is what was detected in one stream.
type result struct {
	seconds float64
	events  [][]int  // per candidate, with each of the model's labels
	scores  []Score  // of words, per candidate
	found   [][]bool // per candidate and word
	skipped []error
	err     error
}

// compare scores the events that each candidate found in a stream of words.
func (res *result) compare(words []Word, found [][]events.Event, tolerance int64) {
	for _, list := range found {
		score, hit := Compare(words, list, tolerance)
		res.scores, res.found = append(res.scores, score), append(res.found, hit)
	}
}

// Measure processes streams of words and of background with all candidates. A word whose label the
// model does not have is an error. The result does not depend on the number of workers. If streams
// cannot be read, the error is that of the first. If ctx is cancelled, the error is its cause.
func Measure(ctx context.Context, m *model.Model, streams []Stream, opt Options) (*Measurement, error) {
	if len(opt.Candidates) == 0 {
		return nil, errors.New("calibration: no candidates")
	}
	if !(opt.Tolerance > 0 && opt.Tolerance <= MaxTolerance) {
		return nil, fmt.Errorf("calibration: tolerance %v s, expected more than 0 and at most %d", opt.Tolerance, MaxTolerance)
	}
	if opt.List < 0 {
		return nil, fmt.Errorf("calibration: list %d, expected at least 0", opt.List)
	}
	if opt.Workers < 0 {
		return nil, fmt.Errorf("calibration: %d workers, expected at least 0", opt.Workers)
	}
	r, err := events.New(m, opt.Candidates[0])
	if err != nil {
		return nil, err
	}
	if _, err := r.NewSweep(opt.Candidates); err != nil {
		return nil, err
	}
	for _, s := range streams {
		for _, w := range s.Words {
			if w.Label == events.None || !slices.Contains(m.Meta.Labels, w.Label) {
				return nil, fmt.Errorf("calibration: %s: the model has no label %q", s.Name, w.Label)
			}
		}
	}
	run := run{
		r: r, opt: opt, tolerance: int64(opt.Tolerance * r.SampleRate()), streams: streams, labels: m.Meta.Labels,
		results: make([]result, len(streams)), alarms: make([]ranking, len(opt.Candidates)),
	}
	if m.Meta.Detection != nil {
		run.offsets = m.Meta.Detection.Offsets
	}
	run.failed.Store(int64(len(streams)))
	pool := par.New(min(par.Workers(opt.Workers), max(len(streams), 1)))
	defer pool.Close()
	pool.For(len(streams), func(_, i int) { run.stream(ctx, i) })
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if i := run.failed.Load(); i < int64(len(streams)) {
		return nil, fmt.Errorf("calibration: %w", run.results[i].err)
	}
	return run.collect(), nil
}

// run is the state of a call of Measure.
type run struct {
	r         *events.Recognizer
	opt       Options
	tolerance int64 // samples
	streams   []Stream
	labels    []string  // of the model
	offsets   []float64 // of the labels; nil: none
	results   []result
	failed    atomic.Int64 // lowest index of a stream with an error

	mu       sync.Mutex
	progress Progress
	alarms   []ranking // per candidate
}

// MaxTolerance is the largest Options.Tolerance in seconds.
const MaxTolerance = 3600

// blockLen is the number of samples that are read at a time.
const blockLen = 1 << 13

// stopped reports whether stream i need not be measured further: ctx is cancelled, or an earlier
// stream has failed.
func (r *run) stopped(ctx context.Context, i int) bool {
	return ctx.Err() != nil || r.failed.Load() < int64(i)
}

// stream measures one stream.
func (r *run) stream(ctx context.Context, i int) {
	if r.stopped(ctx, i) {
		return
	}
	res := &r.results[i]
	if res.err = r.measure(ctx, i, res); res.err != nil {
		for {
			first := r.failed.Load()
			if first <= int64(i) || r.failed.CompareAndSwap(first, int64(i)) {
				return
			}
		}
	}
	r.report(1, 0)
}

func (r *run) measure(ctx context.Context, i int, res *result) error {
	in, err := r.streams[i].Open()
	if err != nil {
		return err
	}
	defer in.Close()
	sweep, err := r.r.NewSweep(r.opt.Candidates)
	if err != nil {
		return err
	}
	words := r.streams[i].Words
	list := make([][]events.Event, len(r.opt.Candidates)) // in streams of words
	var alarms []ranking                                  // in background
	if len(words) == 0 && r.opt.List > 0 {
		alarms = make([]ranking, len(r.opt.Candidates))
	}
	res.events = make([][]int, len(r.opt.Candidates))
	for c := range res.events {
		res.events[c] = make([]int, len(r.labels))
	}
	take := func(found []events.Found, err error) error {
		for _, f := range found {
			res.events[f.Option][slices.Index(r.labels, f.Label)]++
			if len(words) > 0 {
				list[f.Option] = append(list[f.Option], f.Event)
			}
			if alarms != nil {
				alarms[f.Option].add(r.opt.List, r.alarm(in, i, f.Event))
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.streams[i].Name, err)
		}
		return nil
	}
	buf, samples := make([]float32, blockLen), 0
	for end := false; !end; {
		if r.stopped(ctx, i) {
			return nil
		}
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
	res.seconds = float64(samples) / r.r.SampleRate()
	r.mu.Lock()
	for c := range alarms {
		for _, a := range alarms[c] {
			r.alarms[c].add(r.opt.List, a)
		}
	}
	r.mu.Unlock()
	if len(words) > 0 {
		res.compare(words, list, r.tolerance)
	}
	if s, ok := in.(interface{ Skipped() []error }); ok {
		res.skipped = s.Skipped()
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
	r.progress.Of = len(r.streams)
	r.progress.Streams += streams
	r.progress.Seconds += float64(samples) / r.r.SampleRate()
	r.opt.Progress(r.progress)
}

// collect adds up the results of the streams in their order.
func (r *run) collect() *Measurement {
	m := &Measurement{All: r.labels, Points: make([]Point, len(r.opt.Candidates))}
	for _, l := range r.labels {
		n := 0
		for _, s := range r.streams {
			for _, w := range s.Words {
				if w.Label == l {
					n++
				}
			}
		}
		if n > 0 {
			m.Labels, m.Words = append(m.Labels, l), append(m.Words, n)
		}
	}
	group := map[string]int{}
	for i, s := range r.streams {
		res := &r.results[i]
		m.Skipped = append(m.Skipped, res.skipped...)
		if len(s.Words) > 0 {
			m.Seconds += res.seconds
			continue
		}
		if _, ok := group[s.Group]; !ok {
			group[s.Group] = len(m.Groups)
			m.Groups = append(m.Groups, Group{Name: s.Group})
		}
		m.Groups[group[s.Group]].Seconds += res.seconds
	}
	for c := range m.Points {
		p := &m.Points[c]
		*p = Point{Options: r.opt.Candidates[c], Offsets: r.offsets, Alarms: r.alarms[c].list(), MissedWords: make([]int, len(m.Labels)), ByGroup: make([]int, len(m.Groups)), ByLabel: make([]int, len(r.labels))}
		for i, s := range r.streams {
			res := &r.results[i]
			if len(s.Words) == 0 {
				for l, n := range res.events[c] {
					p.FalseAlarms += n
					p.ByGroup[group[s.Group]] += n
					p.ByLabel[l] += n
				}
				p.Hours += res.seconds / 3600
				continue
			}
			p.Score.add(res.scores[c])
			for k, w := range s.Words {
				if !res.found[c][k] {
					p.MissedWords[slices.Index(m.Labels, w.Label)]++
					if len(p.Lost) < r.opt.List {
						p.Lost = append(p.Lost, w)
					}
				}
			}
		}
	}
	return m
}
