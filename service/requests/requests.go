// Package requests has handlers that respond to one request with what a model computes of a whole
// clip of audio, or of the rows of a table. Mount them with Options.Handlers of package service,
// which checks hosts, origins and tokens. README.md of service/s4d-fast-serve describes them.
package requests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

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

// Options of the handlers.
type Options struct {
	Model      string        // its name in the first line of rows
	FFmpeg     bool          // read formats such as Opus with ffmpeg, if it is on the PATH
	Idle, Slow time.Duration // longest time without bytes of a body, and for the client to read a line
	Most       int           // requests at a time
}

// Handlers returns the handlers of what a model can do, by patterns of http.ServeMux, for requests
// with a body: /v1/classify for labels of clips, and /v1/rows for rows.
func Handlers(m *model.Model, detect events.Options, opt Options) (map[string]http.Handler, error) {
	if p, err := series.New(m, series.Options{}); err == nil {
		return opt.handler("/v1/rows", func(w http.ResponseWriter, r *http.Request, in io.Reader) error { return rows(w, r, in, m, p, opt) }), nil
	}
	classify, err := classifier(m, detect)
	if err != nil {
		return nil, err
	}
	return opt.handler("/v1/classify", func(w http.ResponseWriter, r *http.Request, in io.Reader) error {
		return clip(w, r, in, m, classify, opt)
	}), nil
}

// handler returns the handler of a path, for POST. It bounds the number of requests and the time
// that they wait for the client. An error that serve returns becomes a line.
func (o Options) handler(path string, serve func(http.ResponseWriter, *http.Request, io.Reader) error) map[string]http.Handler {
	places := make(chan struct{}, o.Most)
	return map[string]http.Handler{"POST " + path: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			w.Header().Set("Retry-After", "5")
			reject(w, http.StatusServiceUnavailable, "streams", fmt.Errorf("%d requests are in progress, which is the limit", o.Most))
			return
		}
		in, err := service.FormFile(&body{r.Body, http.NewResponseController(w), o}, r.Header.Get("Content-Type"))
		if err == nil {
			err = serve(w, r, in)
		}
		if err != nil {
			reject(w, http.StatusBadRequest, "input", err)
		}
	})}
}

// reject sends an error line, with a status unless lines were sent before.
func reject(w http.ResponseWriter, status int, code string, err error) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
	}
	json.NewEncoder(w).Encode(report.Error{Type: "error", Code: code, Error: err.Error()})
}

// body reads the body of a request, and extends its deadlines with each part that arrives.
type body struct {
	io.Reader
	control *http.ResponseController
	opt     Options
}

func (b *body) Read(p []byte) (int, error) {
	b.control.SetReadDeadline(time.Now().Add(b.opt.Idle))
	b.control.SetWriteDeadline(time.Now().Add(b.opt.Idle + b.opt.Slow))
	return b.Reader.Read(p)
}

// classifier returns the function that labels the samples of a clip.
func classifier(m *model.Model, detect events.Options) (func(x []float32) (report.Class, error), error) {
	labels := m.Meta.Labels
	named := func(label int, values []float32) report.Class {
		c := report.Class{Type: "class", Label: labels[label], Scores: map[string]float32{}}
		for i, v := range values {
			c.Scores[labels[i]] = v
		}
		return c
	}
	if m.Config.Pool == model.PoolNone {
		r, err := events.New(m, detect)
		if err != nil {
			return nil, err
		}
		return func(x []float32) (report.Class, error) {
			label, peaks, err := r.Classify(x)
			if err != nil {
				return report.Class{}, err
			}
			return named(label, peaks), nil
		}, nil
	}
	if m.Config.DInput != 1 || len(labels) < 2 || m.Meta.SampleRate <= 0 {
		return nil, errors.New("requests: the model has no labels of audio, and reads no rows")
	}
	net, err := recurrent.New(m, recurrent.Options{Normalize: true, Posterior: true})
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	return func(x []float32) (report.Class, error) {
		posterior := net.NewStream().Process(x, len(x))
		return named(model.ArgMax(posterior), posterior), nil
	}, nil
}

// clip responds with the label of the clip in a body.
func clip(w http.ResponseWriter, r *http.Request, in io.Reader, m *model.Model, classify func([]float32) (report.Class, error), opt Options) error {
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
	src, err := file.MonoAt(int(m.Meta.SampleRate))
	if err != nil {
		return err
	}
	x := make([]float32, 0, 1<<14)
	for err == nil {
		if len(x) >= maxSamples {
			return fmt.Errorf("a clip of more than %d samples at %g Hz", maxSamples, m.Meta.SampleRate)
		}
		part := make([]float32, 1<<14)
		var n int
		n, err = src.Read(part)
		x = append(x, part[:n]...)
	}
	if err != io.EOF {
		return err
	}
	if _, invalid := events.Check(x); invalid != nil || len(x) == 0 {
		return cmp.Or(invalid, errors.New("the clip has no samples"))
	}
	line, err := classify(x)
	if err != nil {
		return err
	}
	line.Samples, line.Notes = len(x), notes
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(line)
}

// rows responds with a line for each row in a body, while it arrives.
func rows(w http.ResponseWriter, r *http.Request, in io.Reader, m *model.Model, p *series.Predictor, opt Options) error {
	query := r.URL.Query()
	hop, err := strconv.Atoi(cmp.Or(query.Get("hop"), "1"))
	if err != nil || hop < 1 {
		return fmt.Errorf("hop=%.20q: expected a number of rows", query.Get("hop"))
	}
	columns := rowlines.Columns(m)
	t, err := table.New(in, table.Options{Name: "body", Columns: columns, Others: columns == nil, MissingValues: query["missing-values"]})
	if err == io.EOF {
		return errors.New("a body without rows")
	}
	if err != nil {
		return err
	}
	var id *string
	if query.Has("id") {
		id = &query["id"][0]
	}
	lines, err := rowlines.New(m, p, t, id, hop, maxSeries)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, control := json.NewEncoder(w), http.NewResponseController(w)
	times, busy := report.Times{}, time.Duration(0)
	err = out.Encode(lines.Start(opt.Model))
	for err == nil {
		control.Flush()
		if err = lines.Next(); err != nil {
			break
		}
		began := time.Now()
		var line *report.Row
		if line, err = lines.Line(); line != nil {
			err = out.Encode(line)
		}
		times.Add(time.Since(began))
		busy += time.Since(began)
	}
	if err != io.EOF {
		return err
	}
	for _, line := range lines.Rest() {
		out.Encode(line)
	}
	for _, note := range t.Notes() {
		out.Encode(report.Note{Type: "note", Note: note})
	}
	n, count := lines.Counts()
	return out.Encode(report.RowEnd{Type: "end", Rows: n, Series: count, Seconds: busy.Seconds(), RowTime: times.Quantiles()})
}
