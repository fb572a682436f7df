package main

import (
	"net"
	"net/http"
	_ "net/http/pprof" // the profiles
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/s4d-fast/s4d-fast/service"
)

// metrics are the values that Prometheus collects.
type metrics struct {
	samples, busy    prometheus.Counter
	events, rejected *prometheus.CounterVec
	block            prometheus.Histogram
}

func newMetrics(labels []string) *metrics {
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	m := &metrics{
		samples:  prometheus.NewCounter(counter("s4d_samples_total", "Samples of the clients' audio that were processed.")),
		busy:     prometheus.NewCounter(counter("s4d_busy_seconds_total", "Computing time of the model.")),
		events:   prometheus.NewCounterVec(counter("s4d_events_total", "Events by label."), []string{"label"}),
		rejected: prometheus.NewCounterVec(counter("s4d_rejected_total", "Rejected requests and interrupted streams, by the code in the error line."), []string{"why"}),
		block: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "s4d_block_seconds", Help: "Time from the arrival of a block of audio until its lines are sent.",
			Buckets: prometheus.ExponentialBuckets(1e-5, 2, 20),
		}),
	}
	prometheus.MustRegister(m.samples, m.busy, m.events, m.rejected, m.block)
	for _, label := range labels {
		m.events.WithLabelValues(label)
	}
	return m
}

// hooks returns the functions that count what happens in a server.
func (m *metrics) hooks() service.Metrics {
	return service.Metrics{
		Block: func(samples int, busy, latency time.Duration) {
			m.samples.Add(float64(samples))
			m.busy.Add(busy.Seconds())
			m.block.Observe(latency.Seconds())
		},
		Event:  func(label string) { m.events.WithLabelValues(label).Inc() },
		Reject: func(code string) { m.rejected.WithLabelValues(code).Inc() },
	}
}

// observe adds the sizes of a server.
func (m *metrics) observe(s *service.Server) {
	gauge := func(name, help string, value func(service.Stats) float64) {
		prometheus.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(s.Stats()) }))
	}
	gauge("s4d_streams", "Connected streams.", func(v service.Stats) float64 { return float64(v.Streams) })
	gauge("s4d_stream_bytes", "Memory of a stream's detector.", func(v service.Stats) float64 { return float64(v.StreamBytes) })
	prometheus.MustRegister(prometheus.NewCounterFunc(
		prometheus.CounterOpts{Name: "s4d_snapshot_errors_total", Help: "Snapshots that could not be written."},
		func() float64 { return float64(s.Stats().SnapshotErrors) }))
}

// serve serves the metrics and Go's profiles on a listener.
func (m *metrics) serve(l net.Listener) error {
	http.Handle("GET /metrics", promhttp.Handler())
	return (&http.Server{ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}
