package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/recordings"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// Models that a training run can start from, besides the built-in ones.
const (
	fromNothing  = "nothing"
	fromDetector = "detector" // that of the project
)

var errCancelled = errors.New("cancelled")

// leastClips is the smallest number of clips of a word: some train, and at least one is held out.
const leastClips = 3

func (s *Server) startTraining(p *project, r *http.Request) (any, error) {
	q := struct{ From string }{"commands"}
	if err := readJSON(r, &q); err != nil {
		return nil, err
	}
	base, err := p.base(q.From)
	if err != nil {
		return nil, err
	}
	if err := p.ready(); err != nil {
		return nil, err
	}
	if !s.begin() {
		return nil, fail(http.StatusServiceUnavailable, "%v", errClosed)
	}
	s.mu.Lock()
	if busy := s.training; busy != nil {
		s.mu.Unlock()
		s.work.Done()
		return nil, fail(http.StatusConflict, "project %q is being trained: wait for it, or cancel it", busy.name)
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.training = p
	p.mu.Lock() // also holding s.mu: a run that others can see can be cancelled
	p.cancel = cancel
	p.mu.Unlock()
	s.mu.Unlock()
	began := time.Now()
	p.update(func(st *status) { st.Training = training{State: loading, Curve: []epoch{}} })
	go func() {
		defer s.work.Done()
		defer cancel(nil)
		result, err := p.train(ctx, s.cfg, base, q.From, began)
		s.mu.Lock() // until the status says that the run has ended: the next one changes it
		defer s.mu.Unlock()
		s.training = nil
		p.update(func(st *status) {
			t := &st.Training
			t.Seconds, t.Left = time.Since(began).Seconds(), nil
			switch {
			case err == nil:
				t.State, st.Detector = done, result
			case ctx.Err() != nil:
				t.State = cancelled
			default:
				t.State, t.Error = failed, err.Error()
			}
		})
	}()
	return nil, nil
}

func (s *Server) cancelTraining(p *project, r *http.Request) (any, error) {
	p.mu.Lock()
	if p.cancel != nil {
		p.cancel(errCancelled)
	}
	p.mu.Unlock()
	return nil, nil
}

// base returns the model to start from, or nil to start from random weights.
func (p *project) base(from string) (*model.Model, error) {
	switch {
	case from == fromNothing:
		return nil, nil
	case from == fromDetector:
		return p.model()
	case pretrained.Has(from):
		m, err := pretrained.Load(from)
		if err == nil && m.Meta.SampleRate != rate {
			err = badRequest("model %q reads audio at %g Hz, expected %d Hz", from, m.Meta.SampleRate, rate)
		}
		return m, err
	}
	return nil, badRequest("from %q: expected a built-in model, %q or %q", from, fromDetector, fromNothing)
}

// ready returns an error unless every word has enough clips.
func (p *project) ready() error {
	list, err := p.folders()
	if err != nil {
		return err
	}
	words := 0
	for _, f := range list {
		if f.Kind != word {
			continue
		}
		words++
		if f.Count < leastClips {
			return fail(http.StatusConflict, "%q has %d clips: expected at least %d; ten or more are better", f.Name, f.Count, leastClips)
		}
	}
	if words == 0 {
		return fail(http.StatusConflict, "add a word first")
	}
	return nil
}

func (p *project) modelPath() string { return filepath.Join(p.dir, modelFile) }

// sounds are the recordings of a project for a training run.
type sounds struct {
	train, validation recordings.Sounds
	notes             []string
}

// isValidation reports whether recording i of n is held out of training: one in five, at least one
// of least recordings.
func isValidation(i, n, least int) bool {
	return i%5 == 4 || n < 5 && n >= least && i == n-1
}

// sounds reads the recordings. Clips that are held out show how well the detector does on clips
// that it was not trained on, and select the best epoch.
func (p *project) sounds(ctx context.Context) (*sounds, error) {
	list, err := p.folders()
	if err != nil {
		return nil, err
	}
	out := &sounds{train: recordings.Sounds{SampleRate: rate}}
	for _, f := range list {
		if f.Kind == word {
			out.train.Labels = append(out.train.Labels, f.Name)
		}
	}
	out.validation = out.train
	for _, f := range list {
		if f.Count == 0 {
			continue
		}
		clips, broken, err := recordings.Clips(ctx, []string{filepath.Join(p.dir, f.Name)}, recordings.Options{SampleRate: rate, SkipBroken: true, Audio: audio.Options{FFmpeg: true}})
		if err != nil {
			return nil, err
		}
		for _, err := range broken {
			out.notes = append(out.notes, "left out: "+err.Error())
		}
		least, pick := len(clips)+1, func(s *recordings.Sounds) *[]recordings.Clip { return &s.Other }
		switch f.Kind {
		case word:
			least, pick = leastClips, func(s *recordings.Sounds) *[]recordings.Clip { return &s.Words }
		case background:
			pick = func(s *recordings.Sounds) *[]recordings.Clip { return &s.Background }
		}
		label := slices.Index(out.train.Labels, f.Name)
		for i, c := range clips {
			c.Label = max(0, label)
			to := pick(&out.train)
			if isValidation(i, len(clips), least) {
				to = pick(&out.validation)
			}
			*to = append(*to, c)
		}
	}
	return out, nil
}

// config returns the configuration of a run: the preset of the task audio, or the network of the
// model to start from.
func config(c Config, base *model.Model) (train.Config, error) {
	tk, err := task.Lookup("audio")
	if err != nil {
		return train.Config{}, err
	}
	cfg := tk.Preset()
	cfg.Data = nil // the data are those of this package
	if base != nil {
		tk.SetFrom(&cfg, base)
	}
	cfg.Seed, cfg.Workers, cfg.Train.Epochs = 1, c.Workers, c.Epochs
	cfg.Train.Batch = min(cfg.Train.Batch, c.Streams)
	return cfg, nil
}

// train trains a detector, measures it and saves it with its results.
func (p *project) train(ctx context.Context, c Config, base *model.Model, from string, began time.Time) (*detector, error) {
	all, err := p.sounds(ctx)
	if err != nil {
		return nil, err
	}
	p.update(func(s *status) { s.Training.Notes = all.notes })
	opt := recordings.DefaultStreams(rate)
	opt.Seed, opt.Streams, opt.ValStreams = 1, c.Streams, max(c.Streams/10, 16)
	data, err := recordings.MixStreams(all.train, all.validation, opt)
	if err != nil {
		return nil, err
	}
	cfg, err := config(c, base)
	if err != nil {
		return nil, err
	}
	t, err := train.New(ctx, cfg, data, train.Options{From: base, Reporter: &reporter{project: p, began: began, training: time.Now()}})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Fit(ctx); err != nil {
		return nil, err
	}
	p.update(func(s *status) { s.Training.State, s.Training.Left = measuring, nil })
	result, err := p.measure(ctx, t.Best(), all, c.Workers)
	if err != nil {
		return nil, fmt.Errorf("measuring the detector: %w", err)
	}
	result.From, result.Steps = from, t.Step()
	result.Made, result.Seconds = time.Now().Truncate(time.Second), time.Since(began).Seconds()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return result, p.save(t.Best(), result)
}

// reporter passes the progress of a run on to the status.
type reporter struct {
	project         *project
	began, training time.Time
}

func (r *reporter) Begin(q train.Progress) { r.Step(q) }

func (r *reporter) Step(q train.Progress) {
	r.project.update(func(s *status) {
		t := &s.Training
		t.State, t.Step, t.Steps, t.Loss, t.Seconds = learning, q.Step, q.Steps, q.Loss, time.Since(r.began).Seconds()
		if q.Step > 0 {
			left := time.Since(r.training).Seconds() / float64(q.Step) * float64(q.Steps-q.Step)
			t.Left = &left
		}
	})
}

func (r *reporter) Epoch(m train.Metrics, better bool) {
	e := epoch{Step: m.Step, Training: m.TrainLoss, Validation: m.ValLoss}
	if m.ValAccuracy != nil {
		e.Accuracy = *m.ValAccuracy
	}
	r.project.update(func(s *status) { s.Training.Curve = append(s.Training.Curve, e) })
}

func (r *reporter) End() {}
