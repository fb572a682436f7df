package main

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what Prometheus reads.
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
			Name: "s4d_rejected_total", Help: "Streams refused, or disconnected before their end, by the word that the client was told.",
		}, []string{"why"}),
		block: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "s4d_block_seconds", Help: "Time between a block's arrival and the sending of its lines.",
			Buckets: prometheus.ExponentialBuckets(1e-5, 2, 20),
		}),
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.events, m.rejected, m.block)
	counter := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	samples := func() float64 { return float64(m.samples.Load()) }
	busy := func() float64 { return time.Duration(m.busy.Load()).Seconds() }
	counter("s4d_samples_total", "Samples heard.", samples)
	counter("s4d_busy_seconds_total", "Time spent with the model.", busy)
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("s4d_streams", "Streams connected.", func() float64 { return float64(s.streams.count()) })
	gauge("s4d_stream_bytes", "Memory of a stream's detector.", func() float64 { return float64(s.recognizer.StateBytes()) })
	gauge("s4d_real_time_factor", "Time spent with the model over the time of the audio, since the start.", func() float64 {
		return busy() / max(samples()/s.recognizer.SampleRate(), 1e-9)
	})
	gauge("s4d_processors", "Blocks that can be heard at once.", func() float64 { return float64(cap(s.processors)) })
	if kept := s.streams.store; kept != nil {
		gauge("s4d_snapshots", "Streams that can be resumed.", func() float64 { n, _ := kept.size(); return float64(n) })
		gauge("s4d_snapshot_bytes", "Their size on disk.", func() float64 { _, b := kept.size(); return float64(b) })
	}
	for _, label := range labels {
		m.events.WithLabelValues(label)
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
