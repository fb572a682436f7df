package member

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
	taken    *prometheus.CounterVec
	released *prometheus.CounterVec
	replayed prometheus.Counter
	lost     prometheus.Counter
	gaps     prometheus.Counter
	saved    prometheus.Counter
	bytes    prometheus.Counter
	block    prometheus.Histogram
	save     prometheus.Histogram
	resume   prometheus.Histogram
}

func newMetrics(m *Member, labels []string) *metrics {
	r := prometheus.NewRegistry()
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		r.MustRegister(v)
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1e-4, 2, 17)})
		r.MustRegister(h)
		return h
	}
	count := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	s := &metrics{
		registry: r,
		events:   vector("s4d_events_total", "Events by label, repeated ones included.", "label", labels...),
		taken:    vector("s4d_taken_total", "Streams that the member took, new ones and ones with a snapshot.", "state", "new", "resumed"),
		released: vector("s4d_released_total", "Streams that the member gave up.", "why", "slow", "balance", "leave", "lost", "error"),
		replayed: counter("s4d_replayed_samples_total", "Samples that were read from JetStream again."),
		lost:     counter("s4d_lost_samples_total", "Samples that no longer were in JetStream."),
		gaps:     counter("s4d_gaps_total", "Messages of audio that did not arrive and were read from JetStream."),
		saved:    counter("s4d_snapshots_total", "Snapshots that were stored."),
		bytes:    counter("s4d_snapshot_bytes_total", "Bytes of these snapshots."),
		block:    histogram("s4d_block_seconds", "Time from when a chunk is taken from the queue until its lines are stored."),
		save:     histogram("s4d_snapshot_seconds", "Time until a snapshot is stored."),
		resume:   histogram("s4d_resume_seconds", "Time from the delivery of a stream until its audio has been replayed."),
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	samples := func() float64 { return float64(s.samples.Load()) }
	busy := func() float64 { return time.Duration(s.busy.Load()).Seconds() }
	count("s4d_samples_total", "Samples that the model has processed.", samples)
	count("s4d_busy_seconds_total", "Computing time of the model.", busy)
	gauge("s4d_streams", "Streams that the member serves.", func() float64 { return float64(m.count()) })
	gauge("s4d_stream_bytes", "Memory of a stream's detector.", func() float64 { return float64(m.cfg.Recognizer.StateBytes()) })
	gauge("s4d_real_time_factor", "Computing time of the model divided by the duration of the audio, since the start.", func() float64 {
		return busy() / max(samples()/m.cfg.Recognizer.SampleRate(), 1e-9)
	})
	gauge("s4d_processors", "Blocks that can be processed at a time.", func() float64 { return float64(cap(m.processors)) })
	gauge("s4d_lag_seconds", "Mean delay of the chunks of the last second before they are processed.", func() float64 { return m.status().Lag })
	count("s4d_nats_received_bytes_total", "Bytes received from NATS, without protocol headers.", func() float64 { return float64(m.nc.Stats().InBytes) })
	count("s4d_nats_sent_bytes_total", "Bytes sent to NATS, without protocol headers.", func() float64 { return float64(m.nc.Stats().OutBytes) })
	return s
}

// Metrics returns the handler of the page for Prometheus.
func (m *Member) Metrics() http.Handler {
	return promhttp.HandlerFor(m.metrics.registry, promhttp.HandlerOpts{})
}
