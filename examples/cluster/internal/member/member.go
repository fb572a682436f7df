// Package member serves streams of audio that arrive over NATS, together with other members.
//
// JetStream decides which member serves a stream: while a stream is in progress, a work queue holds
// a message for it, and the member to which the message is delivered owns the stream until the
// message's acknowledgement is overdue. The snapshot in the key-value store fences the owner: every
// write expects the revision of the one before, so that a member that has lost the stream without
// noticing fails at its next write.
package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/report"
)

// Config configures a member.
type Config struct {
	Recognizer *events.Recognizer
	Labels     []string      // of the model, for the metrics
	JetStream  wire.Options  // of the cluster; 0: as they are, or the defaults
	Interval   time.Duration // between two snapshots of a stream that receives audio
	MaxLag     time.Duration // mean delay of a chunk above which the member releases streams
	Step       time.Duration // between two decisions about the load; 0: a second
	Processors int           // blocks that are processed at a time; 0: one per processor
	Log        *slog.Logger
}

const (
	pullWait  = 500 * time.Millisecond
	leaveTime = 5 * time.Second // in which a member that leaves hands over its streams
)

// Member serves streams until Run's context ends.
type Member struct {
	cfg        Config
	id         string
	nc         *nats.Conn
	js         jetstream.JetStream
	work       jetstream.Consumer
	stored     jetstream.Stream // of lines
	snapshots  jetstream.KeyValue
	members    jetstream.KeyValue
	processors chan struct{} // has an element for each block that is being processed
	metrics    *metrics
	running    sync.WaitGroup // streams

	mu       sync.Mutex
	streams  map[string]*stream
	taken    int64                  // streams so far, which numbers them
	others   map[string]wire.Status // by member
	own      wire.Status
	next     decision // how to pull
	lagSum   time.Duration
	lagCount int
}

// New prepares a member. It creates the streams and buckets of the cluster if they do not exist,
// and otherwise takes over their options. A model whose snapshots or labels are too large is an
// error.
func New(ctx context.Context, nc *nats.Conn, cfg Config) (*Member, error) {
	if n := cfg.Recognizer.StateBytes(); n > wire.MaxState {
		return nil, fmt.Errorf("state of %d bytes per stream, expected at most %d, because a snapshot is one message: use a model with a shorter window or a smaller network", n, wire.MaxState)
	}
	for _, label := range cfg.Labels {
		if _, err := wire.NewLine("", 1, report.Event{Onset: math.MaxInt64, End: math.MaxInt64, Label: label, Confidence: 1. / 3}); err != nil {
			return nil, fmt.Errorf("label %.80q: %w", label, err)
		}
	}
	cfg.Processors = cmp.Or(cfg.Processors, runtime.GOMAXPROCS(0))
	cfg.Step = cmp.Or(cfg.Step, time.Second)
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if cfg.JetStream, err = wire.Setup(ctx, js, cfg.JetStream); err != nil {
		return nil, err
	}
	m := &Member{
		cfg: cfg, id: rand.Text(), nc: nc, js: js, processors: make(chan struct{}, cfg.Processors),
		streams: map[string]*stream{}, others: map[string]wire.Status{}, next: decision{pull: true, urgency: relaxed},
	}
	if m.work, err = js.Consumer(ctx, wire.WorkStream, wire.WorkConsumer); err != nil {
		return nil, err
	}
	if m.stored, err = js.Stream(ctx, wire.LineStream); err != nil {
		return nil, err
	}
	if m.snapshots, err = js.KeyValue(ctx, wire.Snapshots); err != nil {
		return nil, err
	}
	if m.members, err = js.KeyValue(ctx, wire.Members); err != nil {
		return nil, err
	}
	m.metrics = newMetrics(m, cfg.Labels)
	return m, nil
}

// ID returns the member's name, which is random.
func (m *Member) ID() string { return m.id }

// Options returns the options of the cluster.
func (m *Member) Options() wire.Options { return m.cfg.JetStream }

// Run serves streams until ctx ends, and then hands them over to other members.
func (m *Member) Run(ctx context.Context) error {
	watch, err := m.members.WatchAll(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the members are not known: %w", err)
	}
	defer watch.Stop()
	// The leases are renewed until the streams are handed over.
	leases, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { m.renew(leases) })
	background.Go(func() { m.watch(ctx, watch) })
	background.Go(func() { m.govern(ctx) })
	m.pull(ctx)
	m.release(m.count(), "leave")
	m.waitStreams()
	stop()
	background.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := m.members.Purge(end, m.id); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		m.cfg.Log.Warn("the member's status was not deleted", "error", err)
	}
	return nil
}

// waitStreams waits until all streams are handed over, at most leaveTime.
func (m *Member) waitStreams() {
	done := make(chan bool)
	go func() {
		m.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(leaveTime):
		m.cfg.Log.Warn("streams were not handed over: their leases expire", "streams", m.count())
	}
}

// pull takes streams from the work queue until ctx ends.
func (m *Member) pull(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		next := m.next
		m.mu.Unlock()
		if !next.pull {
			pause(ctx, pullWait)
			continue
		}
		batch, err := m.work.Fetch(1, jetstream.FetchMaxWait(pullWait),
			jetstream.FetchPriorityGroup(wire.WorkGroup), jetstream.FetchPrioritized(next.urgency))
		if err != nil {
			pause(ctx, pullWait)
			continue
		}
		for work := range batch.Messages() {
			m.take(ctx, work)
		}
		if batch.Error() != nil {
			pause(ctx, pullWait)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// take serves a stream that was delivered. If the member serves it already, the lease had expired,
// and the delivery renews it.
func (m *Member) take(ctx context.Context, work jetstream.Msg) {
	name := work.Subject()[len(wire.WorkSubject("")):]
	if err := wire.CheckName(name); err != nil {
		m.cfg.Log.Warn("a stream was rejected", "error", err)
		work.Term()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.streams[name]; s != nil {
		s.work = work
		return
	}
	if ctx.Err() != nil {
		work.Nak()
		return
	}
	m.taken++
	s := &stream{Member: m, name: name, number: m.taken, delivered: time.Now(), work: work}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.cancel = cancel
	m.streams[name] = s
	m.running.Go(func() { s.run(run) })
}

// remove takes the stream off the member's list, so that its lease is not renewed.
func (s *stream) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, s.name)
}

// count returns the number of streams.
func (m *Member) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.streams)
}

// status returns what the member last told the others.
func (m *Member) status() wire.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

// renew renews the leases until ctx ends.
func (m *Member) renew(ctx context.Context) {
	tick := time.NewTicker(m.cfg.JetStream.Lease / 4)
	defer tick.Stop()
	for ctx.Err() == nil {
		m.mu.Lock()
		var all []jetstream.Msg
		for _, s := range m.streams {
			all = append(all, s.work)
		}
		m.mu.Unlock()
		for _, work := range all {
			work.InProgress() // after an error the lease expires
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// watch follows the status of the other members. JetStream deletes the one of a member that no
// longer renews it.
func (m *Member) watch(ctx context.Context, w jetstream.KeyWatcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return
			case e == nil || e.Key() == m.id: // nil: all that was there has been read
				continue
			}
			status, err := wire.ParseStatus(e.Value())
			m.mu.Lock()
			if e.Operation() == jetstream.KeyValuePut && err == nil {
				m.others[e.Key()] = status
			} else {
				delete(m.others, e.Key())
			}
			m.mu.Unlock()
		}
	}
}

// record counts the delay of a chunk.
func (m *Member) record(lag time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lagSum += lag
	m.lagCount++
}

// govern publishes the member's status and releases streams until ctx ends.
func (m *Member) govern(ctx context.Context) {
	g := governor{maxLag: m.cfg.MaxLag.Seconds()}
	tick := time.NewTicker(m.cfg.Step)
	defer tick.Stop()
	for ctx.Err() == nil {
		m.mu.Lock()
		lag := 0.0
		if m.lagCount > 0 {
			lag = m.lagSum.Seconds() / float64(m.lagCount)
		}
		m.lagSum, m.lagCount = 0, 0
		others := make([]wire.Status, 0, len(m.others))
		for _, o := range m.others {
			others = append(others, o)
		}
		d := g.step(len(m.streams), lag, others)
		m.next = d
		m.own = wire.Status{Streams: len(m.streams) - d.release, Limit: g.limit, Lag: lag, Slow: d.slow}
		own := m.own
		m.mu.Unlock()
		m.release(d.release, d.why)
		put, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := m.members.Put(put, m.id, own.Encode()); err != nil && ctx.Err() == nil {
			m.cfg.Log.Warn("the member's status was not stored", "error", err)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// release hands over the n streams that the member took last.
func (m *Member) release(n int, why string) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*stream
	for _, s := range m.streams {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *stream) int { return int(b.number - a.number) })
	for _, s := range all[:min(n, len(all))] {
		s.cancel(released(why))
	}
	m.cfg.Log.Info("streams are released", "streams", min(n, len(all)), "why", why)
}

// released is the cause of a stream's cancellation: slow, balance or leave.
type released string

func (r released) Error() string { return "released: " + string(r) }
