package member

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A member does not start with a model whose snapshots would not fit into a message, because it
// could serve no stream.
func TestLargeState(t *testing.T) {
	c := newCluster(t)
	m := must.Get(tonemodel.New())(t)
	opt := events.DefaultsFor(m)
	for window, want := range map[float64]string{500: "", 600: "bytes per stream"} {
		opt.Window = window
		cfg := Config{Recognizer: must.Get(events.New(m, opt))(t), JetStream: c.opt, Interval: time.Hour, MaxLag: time.Hour, Log: slog.New(slog.DiscardHandler)}
		member, err := New(c.ctx, c.broker.Connect(), cfg)
		if want != "" {
			must.Fail(t, err, want)
			continue
		}
		must.Do(t, err)
		s := stream{Member: member, name: "mic", detector: cfg.Recognizer.NewDetector()}
		must.Do(t, s.claim())
		must.Get(s.detector.Process(make([]float32, 8123)))(t)
		must.Do(t, s.settle())
	}
}

// A member does not start with a model whose labels would not fit into a line.
func TestLongLabel(t *testing.T) {
	c := newCluster(t)
	m := must.Get(tonemodel.NewFramewise())(t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	for label, want := range map[string]string{strings.Repeat("a", 3000): "", strings.Repeat("\x00", 1000): "label", strings.Repeat("a", 1<<20): "label"} {
		_, err := New(c.ctx, c.broker.Connect(), Config{Recognizer: r, Labels: []string{label}, JetStream: c.opt, Log: slog.New(slog.DiscardHandler)})
		if want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, want, "bytes")
			must.Equal(t, len(err.Error()) < 1000, true, "the error is short")
		}
	}
}
