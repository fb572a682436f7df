package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/s4d-fast/s4d-fast/service"
)

// metrics returns functions that count what happens in a server, for Prometheus.
func metrics(labels []string) service.Metrics {
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	samples := promauto.NewCounter(counter("s4d_samples_total", "Samples of the clients' audio that were processed."))
	seconds := promauto.NewCounter(counter("s4d_busy_seconds_total", "Computing time of the model."))
	events := promauto.NewCounterVec(counter("s4d_events_total", "Events by label."), []string{"label"})
	rejected := promauto.NewCounterVec(counter("s4d_rejected_total", "Rejected requests and interrupted streams, by the code in the error line."), []string{"why"})
	block := promauto.NewHistogram(prometheus.HistogramOpts{
		Name: "s4d_block_seconds", Help: "Time from the arrival of a block of audio until its lines are sent.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 2, 20),
	})
	for _, label := range labels {
		events.WithLabelValues(label)
	}
	return service.Metrics{
		Block: func(n int, busy, latency time.Duration) {
			samples.Add(float64(n))
			seconds.Add(busy.Seconds())
			block.Observe(latency.Seconds())
		},
		Event:  func(label string) { events.WithLabelValues(label).Inc() },
		Reject: func(code string) { rejected.WithLabelValues(code).Inc() },
	}
}

// observe adds the sizes of a server to the metrics.
func observe(s *service.Server) {
	promauto.NewGaugeFunc(prometheus.GaugeOpts{Name: "s4d_streams", Help: "Connected streams."}, func() float64 { return float64(s.Stats().Streams) })
	promauto.NewGaugeFunc(prometheus.GaugeOpts{Name: "s4d_stream_bytes", Help: "Memory of a stream's detector."},
		func() float64 { return float64(s.Stats().StreamBytes) })
	promauto.NewCounterFunc(prometheus.CounterOpts{Name: "s4d_snapshot_errors_total", Help: "Snapshots that could not be written."},
		func() float64 { return float64(s.Stats().SnapshotErrors) })
}
