package member

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// cluster is a broker and what tests need to publish streams and to read lines.
type cluster struct {
	t      *testing.T
	ctx    context.Context
	broker *clustertest.Broker
	opt    wire.Options
	js     jetstream.JetStream
	pcm    []byte // words
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, ctx: clustertest.Context(t), broker: clustertest.Start(t), opt: wire.Defaults()}
	c.opt.Lease = 500 * time.Millisecond
	c.js = c.broker.JetStream()
	must.Get(wire.Setup(c.ctx, c.js, c.opt))(t)
	for _, v := range tonemodel.Words().Samples {
		c.pcm = append(c.pcm, byte(int16(v*(1<<15))), byte(int16(v*(1<<15))>>8))
	}
	return c
}

// member returns a member that does not run yet. A bias other than 0 makes its model a different
// one.
func (c *cluster) member(bias float32) *Member {
	c.t.Helper()
	m := must.Get(tonemodel.NewFramewise())(c.t)
	m.Weights.DecoderBias[0] += bias
	return c.memberOf(m)
}

func (c *cluster) memberOf(m *model.Model) *Member {
	c.t.Helper()
	r := must.Get(events.New(m, events.DefaultsFor(m)))(c.t)
	cfg := Config{Recognizer: r, Labels: m.Meta.Labels, JetStream: c.opt, Interval: 20 * time.Millisecond, Step: 20 * time.Millisecond, MaxLag: time.Hour, Log: slog.New(slog.DiscardHandler)}
	return must.Get(New(c.ctx, c.broker.Connect(), cfg))(c.t)
}

// run runs a member until stop is called or the test ends.
func (c *cluster) run(m *Member) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must.Do(c.t, <-done)
	})
	c.t.Cleanup(stop)
	return stop
}

// expected returns the lines of the words, with the end.
func (c *cluster) expected() (lines []string) {
	m := must.Get(tonemodel.NewFramewise())(c.t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(c.t)
	x := wire.AppendSamples(nil, c.pcm)
	for _, e := range must.Get(r.Recognize(x))(c.t) {
		lines = append(lines, text(c.t, report.NewEvent(e, func(n int64) int64 { return n })))
	}
	return append(lines, text(c.t, wire.End{Type: "end", Samples: int64(len(x)), Seconds: float64(len(x)) / tonemodel.SampleRate}))
}

func text(t *testing.T, v any) string {
	t.Helper()
	return string(must.Get(json.Marshal(v))(t))
}

// reader returns a function that waits for the next line of a stream.
func (c *cluster) reader(stream string) (next func() string) {
	c.t.Helper()
	lines := must.Get(c.js.OrderedConsumer(c.ctx, wire.LineStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{wire.LineSubject(stream)}}))(c.t)
	messages := must.Get(lines.Messages())(c.t)
	c.t.Cleanup(messages.Stop)
	return func() string {
		c.t.Helper()
		msg := must.Get(messages.Next(jetstream.NextContext(c.ctx)))(c.t)
		return string(msg.Data())
	}
}

// check compares the lines of a stream with the expected ones.
func (c *cluster) check(stream string) {
	c.t.Helper()
	next := c.reader(stream)
	for i, want := range c.expected() {
		must.Equal(c.t, next(), want, "line %d of %s", i+1, stream)
	}
}

func (c *cluster) publisher(stream string) *wire.Publisher {
	c.t.Helper()
	return must.Get(wire.NewPublisher(c.ctx, c.js, stream, tonemodel.SampleRate))(c.t)
}

// send sends the words from a sample to an exclusive end, in chunks of 0.1 s.
func (c *cluster) send(p *wire.Publisher, from, to int) {
	c.t.Helper()
	for at := from; at < to; at += 800 {
		must.Do(c.t, p.Send(c.ctx, c.pcm[2*at:2*min(at+800, to)]))
	}
}

func (c *cluster) samples() int { return len(c.pcm) / 2 }

// eventually waits until a condition on the broker's state is met.
func (c *cluster) eventually(what string, is func() bool) {
	c.t.Helper()
	for !is() {
		select {
		case <-c.ctx.Done():
			c.t.Fatalf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A stream that ends leaves its lines and nothing else.
func TestStream(t *testing.T) {
	c := newCluster(t)
	m := c.member(0)
	stop := c.run(m)
	p := c.publisher("mic")
	must.Reject(wire.NewPublisher(c.ctx, c.js, "mic", 8000))(t, "stream mic was not started")
	c.send(p, 0, c.samples())
	must.Do(t, p.End(c.ctx))
	c.check("mic")
	work := must.Get(c.js.Stream(c.ctx, wire.WorkStream))(t)
	c.eventually("the queue is empty", func() bool { return must.Get(work.Info(c.ctx))(t).State.Msgs == 0 })
	must.Reject(m.snapshots.Get(c.ctx, "mic"))(t, jetstream.ErrKeyNotFound)
	c.eventually("the member has no stream", func() bool { return m.count() == 0 })
	stop()
	must.Equal(t, testutil.ToFloat64(m.metrics.taken.WithLabelValues("new")), 1, "streams taken")
	must.Equal(t, int(m.metrics.samples.Load()), c.samples(), "samples")
}

// A publisher that repeats audio, and one that omits some.
func TestPositions(t *testing.T) {
	c := newCluster(t)
	m := c.member(0)
	c.run(m)
	next := c.reader("mic")
	c.publisher("mic")
	publish := func(chunk wire.Chunk) {
		must.Get(c.js.Publish(c.ctx, wire.AudioSubject("mic"), chunk.Append(nil)))(t)
	}
	publish(wire.Chunk{PCM: make([]byte, 1600)})
	publish(wire.Chunk{Position: 400, PCM: make([]byte, 1600)})
	publish(wire.Chunk{Position: 0, PCM: make([]byte, 1600)})
	publish(wire.Chunk{Position: 2000, End: true})
	must.Equal(t, next(), text(t, wire.End{Type: "end", Samples: 2000, Seconds: 0.25}), "line")
	must.Equal(t, int(m.metrics.samples.Load()), 1200, "samples")
	must.Equal(t, testutil.ToFloat64(m.metrics.lost), 800, "lost samples")
}

// An error of the publisher ends the stream with an error line.
func TestPublisherErrors(t *testing.T) {
	c := newCluster(t)
	m := c.member(0)
	c.run(m)
	for i, p := range []struct{ start, audio, want string }{
		{`{"rate":16000}`, "", `"why":"request","error":"sampling rate of 16000 Hz, expected 8000 Hz"`},
		{`{`, "", `"why":"request","error":"description of the stream`},
		{`{"rate":8000}`, "noise", `"why":"audio","error":"audio message without the header`},
	} {
		name := "mic" + string(rune('a'+i))
		must.Get(c.js.Publish(c.ctx, wire.WorkSubject(name), []byte(p.start)))(t)
		if p.audio != "" {
			must.Get(c.js.Publish(c.ctx, wire.AudioSubject(name), []byte(p.audio)))(t)
		}
		if line := c.reader(name)(); !strings.Contains(line, p.want) {
			t.Errorf("line %s, expected one with %s", line, p.want)
		}
	}
	c.eventually("all streams have ended", func() bool { return m.count() == 0 })
}

// A stream with an invalid name, and one beyond the limit, are rejected.
func TestRejectedStreams(t *testing.T) {
	c := newCluster(t)
	must.Do(t, c.js.DeleteStream(c.ctx, wire.WorkStream)) // which has another limit
	c.opt.Streams = 2
	m := c.member(0)
	must.Get(c.js.Publish(c.ctx, wire.WorkSubject("a=b"), []byte(`{"rate":8000}`)))(t)
	c.publisher("one")
	must.Reject(wire.NewPublisher(c.ctx, c.js, "two", 8000))(t, "stream two was not started", "maximum messages exceeded")
	c.run(m)
	work := must.Get(c.js.Stream(c.ctx, wire.WorkStream))(t)
	c.eventually("the invalid stream is gone", func() bool { return must.Get(work.Info(c.ctx))(t).State.Msgs == 1 })
	c.publisher("two")
}

// A member that leaves hands over its streams, and the next one replays nothing.
func TestLeave(t *testing.T) {
	c := newCluster(t)
	one, two := c.member(0), c.member(0)
	stop := c.run(one)
	p := c.publisher("mic")
	c.send(p, 0, c.samples()/2)
	c.eventually("half of the audio is processed", func() bool { return int(one.metrics.samples.Load()) == c.samples()/2 })
	stop()
	must.Equal(t, testutil.ToFloat64(one.metrics.released.WithLabelValues("leave")), 1, "streams released")
	c.run(two)
	c.eventually("the other member has the stream", func() bool { return two.count() == 1 })
	c.send(p, c.samples()/2, c.samples())
	must.Do(t, p.End(c.ctx))
	c.check("mic")
	must.Equal(t, int(two.metrics.samples.Load()), c.samples()-c.samples()/2, "samples")
}

// Only a member with the same model resumes a stream.
func TestOtherModel(t *testing.T) {
	c := newCluster(t)
	one, other, two := c.member(0), c.member(1), c.member(0)
	stop := c.run(one)
	p := c.publisher("mic")
	c.send(p, 0, c.samples()/2)
	c.eventually("half of the audio is processed", func() bool { return int(one.metrics.samples.Load()) == c.samples()/2 })
	stop()
	c.run(other)
	c.eventually("the other model fails", func() bool {
		return testutil.ToFloat64(other.metrics.released.WithLabelValues("error")) > 0
	})
	c.run(two)
	c.send(p, c.samples()/2, c.samples())
	must.Do(t, p.End(c.ctx))
	c.check("mic")
}

// Streams continue when the broker restarts with its files.
func TestBrokerRestart(t *testing.T) {
	c := newCluster(t)
	m := c.member(0)
	c.run(m)
	p := c.publisher("mic")
	c.send(p, 0, c.samples()/2)
	c.eventually("some audio is processed", func() bool { return m.metrics.samples.Load() > 0 })
	c.broker.Restart()
	c.send(p, c.samples()/2, c.samples())
	must.Do(t, p.End(c.ctx))
	c.check("mic")
}

// A damaged snapshot ends the stream with an error line.
func TestDamagedSnapshot(t *testing.T) {
	c := newCluster(t)
	c.publisher("mic")
	m := c.member(0)
	must.Get(m.snapshots.Put(c.ctx, "mic", []byte("noise")))(t)
	c.run(m)
	if line := c.reader("mic")(); !strings.Contains(line, `"why":"snapshot"`) {
		t.Errorf("line %s", line)
	}
}

// owner returns the stream as a member has it after a delivery, without the goroutine that serves
// it.
func (c *cluster) owner(m *Member) *stream {
	c.t.Helper()
	batch := must.Get(m.work.Fetch(1, jetstream.FetchMaxWait(time.Minute), jetstream.FetchPriorityGroup(wire.WorkGroup)))(c.t)
	work := <-batch.Messages()
	if work == nil {
		c.t.Fatalf("no delivery: %v", batch.Error())
	}
	s := &stream{Member: m, name: "mic", delivered: time.Now(), work: work, detector: m.cfg.Recognizer.NewDetector()}
	must.Do(c.t, s.claim())
	return s
}

// An owner that has lost its stream without knowing it can store neither snapshots nor lines of its
// own, and cannot end the stream.
func TestStaleOwner(t *testing.T) {
	c := newCluster(t)
	p := c.publisher("mic")
	c.send(p, 0, c.samples()/2)
	old := c.owner(c.member(0))
	must.Do(t, old.replay())
	must.Do(t, old.settle())
	toldBefore := old.lines
	next := c.owner(c.member(0))
	must.Equal(t, next.detector.Position(), int64(c.samples()/2), "position of the new owner")
	must.Equal(t, next.lines, toldBefore, "lines of the new owner")
	c.send(p, c.samples()/2, c.samples())
	must.Do(t, p.End(c.ctx))

	// Both process the rest. The lines are equal, and each is stored once.
	must.Fail(t, next.replay(), errEnded)
	must.Fail(t, old.replay(), errEnded)
	must.Fail(t, old.finish(), errLost)
	must.Fail(t, old.settle(), errLost)
	must.Do(t, next.finish())
	c.check("mic")
	info := must.Get(must.Get(c.js.Stream(c.ctx, wire.LineStream))(t).Info(c.ctx))(t)
	must.Equal(t, int(info.State.Msgs), len(c.expected()), "lines in JetStream")

	// A line that no other owner has told is rejected too.
	old.told, old.lineSequence = old.lines, 1
	must.Fail(t, old.tell(report.Event{Type: "event"}), errLost)
}

// An owner that dies between its last line and the acknowledgement leaves the rest to the next one.
func TestFinishTwice(t *testing.T) {
	c := newCluster(t)
	p := c.publisher("mic")
	c.send(p, 0, c.samples())
	must.Do(t, p.End(c.ctx))
	m := c.member(0)
	old := c.owner(m)
	must.Fail(t, old.replay(), errEnded)
	must.Do(t, m.snapshots.Purge(c.ctx, "mic"))
	two := c.member(0)
	c.run(two)
	work := must.Get(c.js.Stream(c.ctx, wire.WorkStream))(t)
	c.eventually("the queue is empty", func() bool { return must.Get(work.Info(c.ctx))(t).State.Msgs == 0 })
	c.check("mic")
	must.Reject(two.snapshots.Get(c.ctx, "mic"))(t, jetstream.ErrKeyNotFound)
}

// A message that did not arrive is read from JetStream.
func TestGap(t *testing.T) {
	c := newCluster(t)
	p := c.publisher("mic")
	c.send(p, 0, 800)
	m := c.member(0)
	s := c.owner(m)
	live := must.Get(m.nc.SubscribeSync(wire.LiveSubject("mic")))(t)
	must.Do(t, m.nc.Flush())
	must.Do(t, s.replay())
	c.send(p, 800, 2400)
	first := must.Get(live.NextMsgWithContext(c.ctx))(t)
	second := must.Get(live.NextMsgWithContext(c.ctx))(t)
	must.Do(t, s.receive(second, 0))
	must.Equal(t, s.detector.Position(), 2400, "position after the second message")
	must.Equal(t, testutil.ToFloat64(m.metrics.gaps), 1, "gaps")
	must.Do(t, s.receive(first, 0)) // late
	must.Do(t, s.receive(nats.NewMsg(wire.LiveSubject("mic")), 0))
	must.Equal(t, s.detector.Position(), 2400, "position after messages to ignore")
}

// half returns a member that owns the stream "mic" and has told the lines of its first half.
func (c *cluster) half() (*Member, *stream) {
	c.t.Helper()
	c.send(c.publisher("mic"), 0, c.samples()/2)
	m := c.member(0)
	s := c.owner(m)
	must.Do(c.t, s.replay())
	if s.lines == 0 {
		c.t.Fatal("no line in the first half")
	}
	return m, s
}

// The first event after all earlier lines have expired is stored, but only by the owner.
func TestExpiredLines(t *testing.T) {
	c := newCluster(t)
	m, s := c.half()
	lines := must.Get(c.js.Stream(c.ctx, wire.LineStream))(t)
	stored := func() int { return int(must.Get(lines.Info(c.ctx))(t).State.Msgs) }
	must.Do(t, lines.Purge(c.ctx))
	s.save()
	must.Do(t, s.tell(report.Event{Type: "event"}))
	must.Do(t, s.tell(report.Event{Type: "event"}))
	must.Equal(t, stored(), 2, "lines in JetStream")

	c.owner(c.member(0))
	must.Do(t, lines.Purge(c.ctx))
	must.Fail(t, s.tell(report.Event{Type: "event"}), errLost)
	must.Do(t, m.snapshots.Purge(c.ctx, "mic"))
	must.Fail(t, s.tell(report.Event{Type: "event"}), errLost)
	must.Equal(t, stored(), 0, "lines in JetStream")
}

// Lines of audio that is gone, which a new owner cannot number, end the stream.
func TestExpired(t *testing.T) {
	c := newCluster(t)
	m, old := c.half()
	must.Do(t, m.snapshots.Purge(c.ctx, "mic"))
	audio := must.Get(c.js.Stream(c.ctx, wire.AudioStream))(t)
	must.Do(t, audio.Purge(c.ctx, jetstream.WithPurgeKeep(1)))
	c.run(c.member(0))
	next := c.reader("mic")
	for range old.lines {
		next()
	}
	if line := next(); !strings.Contains(line, "are no longer in JetStream") {
		t.Errorf("line %s", line)
	}
}

// A stream whose publisher died before the end does not stay forever.
func TestAbandoned(t *testing.T) {
	c := newCluster(t)
	p := c.publisher("mic")
	c.send(p, 0, 800)
	m := c.member(0)
	s := c.owner(m)
	began := time.Now()
	s.arrived, s.heard = began, began
	limit := c.opt.KeepAudio
	must.Do(t, s.wait(began.Add(limit))) // reads the audio
	must.Equal(t, s.detector.Position(), 800, "position")
	must.Do(t, s.wait(s.heard.Add(limit)))
	s.arrived = began // no request before
	must.Fail(t, s.wait(s.heard.Add(limit+1)), "no audio for 30s after sample 800, expected audio or the end of the stream")

	c.publisher("two")
	m.cfg.JetStream.KeepAudio = 50 * time.Millisecond // of which JetStream does not know
	must.Do(t, s.lease().Nak())
	c.run(m)
	for _, name := range []string{"mic", "two"} {
		if line := c.reader(name)(); !strings.Contains(line, `"why":"audio","error":"no audio for 50ms after sample `) {
			t.Errorf("line %s", line)
		}
	}
	work := must.Get(c.js.Stream(c.ctx, wire.WorkStream))(t)
	c.eventually("the queue is empty", func() bool { return must.Get(work.Info(c.ctx))(t).State.Msgs == 0 })
}

// The status of a member that dies disappears.
func TestStatusExpires(t *testing.T) {
	c := newCluster(t)
	one, two := c.member(0), c.member(0)
	c.run(one)
	known := func() bool {
		one.mu.Lock()
		defer one.mu.Unlock()
		_, is := one.others[two.id]
		return is
	}
	stop := c.run(two)
	c.eventually("the other member is known", known)
	two.nc.Close()
	stop()
	c.eventually("the other member is forgotten", func() bool { return !known() })
}

// Streams of a slow member move to another one.
func TestSlow(t *testing.T) {
	c := newCluster(t)
	slow, other := c.member(0), c.member(0)
	slow.cfg.MaxLag = 100 * time.Millisecond
	other.cfg.MaxLag = slow.cfg.MaxLag
	c.run(slow)
	for _, name := range []string{"a", "b", "c", "d"} {
		c.publisher(name)
	}
	c.eventually("the slow member has all streams", func() bool { return slow.count() == 4 })
	c.run(other)
	c.eventually("the other member has most streams", func() bool {
		slow.record(time.Minute)
		return slow.count() == 1 && other.count() == 3
	})
}
