// Package requests has handlers that respond to one request with what a model computes of a whole
// clip of audio, or of the rows of a table, for Options.Requests of package service. README.md of
// service/s4d-fast-serve describes them.
package requests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/rowlines"
	"github.com/s4d-fast/s4d-fast/internal/table"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/series"
	"github.com/s4d-fast/s4d-fast/service"
)

// Limits of a request.
const (
	maxSamples = 1 << 22 // of a clip at the model's rate
	maxBody    = 1 << 26 // bytes of a clip
	maxSeries  = 1 << 24 // bytes of the series in a table
)

// Handlers returns what a model can do with one request, for the options of its server: labels of
// clips (/v1/classify), or rows (/v1/rows).
func Handlers(m *model.Model, detect events.Options, opt service.Options) (map[string]service.Request, error) {
	if p, err := series.New(m, series.Options{}); err == nil {
		return map[string]service.Request{"POST /v1/rows": func(w http.ResponseWriter, r *http.Request, in io.Reader) error {
			return rows(w, r, in, m, p, opt)
		}}, nil
	}
	classify, err := classifier(m, detect)
	if err != nil {
		return nil, err
	}
	return map[string]service.Request{"POST /v1/classify": func(w http.ResponseWriter, r *http.Request, in io.Reader) error {
		return clip(w, r, in, m, classify, opt)
	}}, nil
}

// classifier returns the function that finds the label of the samples of a clip, with the scores of
// all labels.
func classifier(m *model.Model, detect events.Options) (func(x []float32) (label int, scores []float32, err error), error) {
	if m.Config.Pool == model.PoolNone {
		r, err := events.New(m, detect)
		if err != nil {
			return nil, err
		}
		return r.Classify, nil
	}
	if m.Config.DInput != 1 || len(m.Meta.Labels) < 2 || m.Meta.SampleRate <= 0 {
		return nil, errors.New("requests: the model has no labels of audio, and reads no rows")
	}
	net, err := recurrent.New(m, recurrent.Options{Normalize: true, Posterior: true})
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	return func(x []float32) (int, []float32, error) {
		posterior := net.NewStream().Process(x, len(x))
		return model.ArgMax(posterior), posterior, nil
	}, nil
}

// clip responds with the label of the clip in a body.
func clip(w http.ResponseWriter, r *http.Request, in io.Reader, m *model.Model, classify func([]float32) (int, []float32, error), opt service.Options) error {
	var notes []string
	options := audio.Options{FFmpeg: opt.FFmpeg, Note: func(text string) { notes = append(notes, text) }}
	if text := r.URL.Query().Get("channel"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("channel=%.20q: expected the number of a channel, from 0", text)
		}
		options.Channel = &n
	}
	file, err := options.Open(io.LimitReader(in, maxBody))
	if err != nil {
		return err
	}
	defer file.Close()
	x, err := file.ReadMono(int(m.Meta.SampleRate), maxSamples)
	if err != nil {
		return err
	}
	if len(x) == 0 {
		return errors.New("the clip has no samples")
	}
	if _, err := events.Check(x); err != nil {
		return err
	}
	label, scores, err := classify(x)
	if err != nil {
		return err
	}
	labels := m.Meta.Labels
	line := report.Class{Type: "class", Label: labels[label], Scores: map[string]float32{}, Samples: len(x), Notes: notes}
	for i, v := range scores {
		line.Scores[labels[i]] = v
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(line)
}

// rows responds with a line for each row in a body, while it arrives.
func rows(w http.ResponseWriter, r *http.Request, in io.Reader, m *model.Model, p *series.Predictor, opt service.Options) error {
	query := r.URL.Query()
	hop, err := strconv.Atoi(cmp.Or(query.Get("hop"), "1"))
	if err != nil || hop < 1 {
		return fmt.Errorf("hop=%.20q: expected a number of rows", query.Get("hop"))
	}
	options := rowlines.Options{Model: opt.Model, Table: table.Options{Name: "body", MissingValues: query["missing-values"]}, Hop: hop, Bytes: maxSeries}
	if query.Has("id") {
		options.ID = &query["id"][0]
	}
	lines, err := rowlines.New(r.Context(), m, p, in, options)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, control := json.NewEncoder(w), http.NewResponseController(w)
	emit := func(line any) error {
		if err := out.Encode(line); err != nil {
			return err
		}
		return control.Flush()
	}
	var notes []string
	note := func(texts ...string) error {
		notes = append(notes, texts...)
		return nil
	}
	if err := lines.Run(r.Context(), emit, note); err != nil {
		return err
	}
	for _, text := range notes {
		emit(report.Note{Type: "note", Note: text})
	}
	return lines.End(emit)
}
