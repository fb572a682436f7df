package main

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the values that Prometheus collects.
type metrics struct {
	registry *prometheus.Registry
	samples  atomic.Int64
	busy     atomic.Int64 // ns
	events   *prometheus.CounterVec
	rejected *prometheus.CounterVec
	block    prometheus.Histogram
}

func newMetrics(s *server, labels []string) *metrics {
	r := prometheus.NewRegistry()
	m := &metrics{
		registry: r,
		events:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "s4d_events_total", Help: "Events by label."}, []string{"label"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "s4d_rejected_total", Help: "Rejected requests and interrupted streams, by the code in the error line.",
		}, []string{"why"}),
		block: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "s4d_block_seconds", Help: "Time from the arrival of a block of audio until its lines are sent.",
			Buckets: prometheus.ExponentialBuckets(1e-5, 2, 20),
		}),
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.events, m.rejected, m.block)
	counter := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	samples := func() float64 { return float64(m.samples.Load()) }
	busy := func() float64 { return time.Duration(m.busy.Load()).Seconds() }
	counter("s4d_samples_total", "Samples that the model has processed.", samples)
	counter("s4d_busy_seconds_total", "Computing time of the model.", busy)
	gauge("s4d_streams", "Connected streams.", func() float64 { return float64(s.streams.count()) })
	gauge("s4d_stream_bytes", "Memory of a stream's detector.", func() float64 { return float64(s.recognizer.StateBytes()) })
	gauge("s4d_real_time_factor", "Computing time of the model divided by the duration of the audio, since the start.", func() float64 {
		return busy() / max(samples()/s.recognizer.SampleRate(), 1e-9)
	})
	gauge("s4d_processors", "Blocks that can be processed at a time.", func() float64 { return float64(cap(s.processors)) })
	if st := s.streams.store; st != nil {
		counter("s4d_snapshot_errors_total", "Snapshots that could not be written.", func() float64 { return float64(s.streams.unsaved.Load()) })
		gauge("s4d_snapshots", "Saved streams.", func() float64 { n, _ := st.size(); return float64(n) })
		gauge("s4d_snapshot_bytes", "Total size of the snapshots.", func() float64 { _, b := st.size(); return float64(b) })
	}
	for _, label := range labels {
		m.events.WithLabelValues(label)
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
