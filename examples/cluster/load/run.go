package main

import (
	"context"
	crypto "crypto/rand"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/report"
)

// load publishes streams and compares their lines with the expected ones.
type load struct {
	js       jetstream.JetStream
	scripts  []*script
	streams  int
	realTime bool          // one chunk per chunkDuration; otherwise as fast as JetStream stores them
	spread   time.Duration // over which the streams start
	patience time.Duration // after the end of a stream's audio, until its last line
	onLine   func(n int)   // called with the number of lines so far; may be nil

	mu       sync.Mutex
	lines    int
	events   int
	faults   []time.Time
	calm     report.Times // latency of events, far from faults
	faulty   report.Times // and of the others
	recent   report.Times // of all since the last call of sinceLast
	stored   report.Times // from when a chunk is due until JetStream has stored it
	failures map[string]int
	byName   map[string]*checked
}

// faultBefore and faultAfter bound the time around a fault in which its effects count.
const (
	faultBefore = time.Second
	faultAfter  = 5 * time.Second
)

// checked is a stream whose lines are compared with the script's.
type checked struct {
	*script
	sent  []atomic.Int64 // per expected event: Unix time in ns at which its chunk was due
	next  int            // expected event
	done  chan struct{}  // closed after the last line
	ended bool
}

// run returns when every stream has ended or has failed.
func (l *load) run(ctx context.Context) error {
	l.failures, l.byName = map[string]int{}, map[string]*checked{}
	prefix := crypto.Text()
	var names []string
	for i := range l.streams {
		s := l.scripts[i%len(l.scripts)]
		name := fmt.Sprintf("%s-%d", prefix, i)
		names = append(names, name)
		l.byName[name] = &checked{script: s, sent: make([]atomic.Int64, len(s.expected)), done: make(chan struct{})}
	}
	lines, err := l.js.OrderedConsumer(ctx, wire.LineStream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return err
	}
	reading, err := lines.Consume(func(msg jetstream.Msg) {
		if stream, is := strings.CutPrefix(msg.Subject(), wire.LineSubject("")); is && l.byName[stream] != nil {
			l.check(stream, msg)
		}
	})
	if err != nil {
		return err
	}
	defer reading.Stop()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if err := l.stream(ctx, name, l.byName[name]); err != nil {
				l.fail(fmt.Sprintf("%v", err))
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// stream publishes a stream and waits for its last line.
func (l *load) stream(ctx context.Context, name string, c *checked) error {
	start := time.Now()
	if l.spread > 0 {
		start = start.Add(rand.N(l.spread))
		sleepUntil(ctx, start)
	}
	p, err := wire.NewPublisher(ctx, l.js, name, c.rate)
	if err != nil {
		return err
	}
	next := 0
	for k := range c.chunks + 1 {
		due := time.Now()
		if l.realTime {
			due = start.Add(time.Duration(k+1) * chunkDuration)
			sleepUntil(ctx, due)
		}
		for ; next < len(c.expected) && c.expected[next].chunk == k; next++ {
			c.sent[next].Store(due.UnixNano())
		}
		if k == c.chunks {
			err = p.End(ctx)
		} else {
			err = p.Send(ctx, c.chunk(k))
		}
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.stored.Add(time.Since(due))
		l.mu.Unlock()
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(l.patience):
		return fmt.Errorf("no end %v after the audio", l.patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func sleepUntil(ctx context.Context, t time.Time) {
	select {
	case <-time.After(time.Until(t)):
	case <-ctx.Done():
	}
}

// fault records that a member was killed.
func (l *load) fault(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, at)
}

func (l *load) fail(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures[text]++
}

// check compares a line with the next expected one.
func (l *load) check(name string, msg jetstream.Msg) {
	c := l.byName[name]
	now := time.Now()
	err := c.compare(msg)
	l.mu.Lock()
	l.lines++
	n := l.lines
	if err != nil {
		l.failures[err.Error()]++
	} else if !c.ended {
		l.events++
		l.record(time.Unix(0, c.sent[c.next-1].Load()), now)
	}
	l.mu.Unlock()
	if l.onLine != nil {
		l.onLine(n)
	}
}

// record counts the latency of an event whose chunk was sent at a time. The caller holds mu.
func (l *load) record(sent, received time.Time) {
	l.recent.Add(received.Sub(sent))
	for i := len(l.faults) - 1; i >= 0; i-- {
		if d := sent.Sub(l.faults[i]); d > -faultBefore && d < faultAfter {
			l.faulty.Add(received.Sub(sent))
			return
		}
	}
	l.calm.Add(received.Sub(sent))
}

// compare checks a line and counts it.
func (c *checked) compare(msg jetstream.Msg) error {
	number, last, err := wire.ParseLine(msg.Headers(), msg.Data())
	switch {
	case err != nil:
		return err
	case c.ended:
		return fmt.Errorf("a line after the end: %s", msg.Data())
	case number != int64(c.next+1):
		return fmt.Errorf("line %d, expected %d", number, c.next+1)
	case last:
		c.ended = true
		defer close(c.done)
		var end wire.End
		want := int64(c.chunks) * int64(len(c.clip[0])/2)
		if err := json.Unmarshal(msg.Data(), &end); err != nil || end.Type != "end" || end.Samples != want || c.next != len(c.expected) {
			return fmt.Errorf("last line %s after %d events, expected the end at sample %d after %d events", msg.Data(), c.next, want, len(c.expected))
		}
		return nil
	}
	var got report.Event
	if err := json.Unmarshal(msg.Data(), &got); err != nil {
		return err
	}
	c.next++
	if c.next > len(c.expected) {
		return fmt.Errorf("event %s, expected the end after %d events", msg.Data(), len(c.expected))
	}
	if want := c.expected[c.next-1].event; got != want {
		return fmt.Errorf("event %d is %+v, expected %+v", c.next, got, want)
	}
	return nil
}

// sinceLast describes the latency of events since the last call.
func (l *load) sinceLast() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.recent.Quantiles()
	l.recent = report.Times{}
	return milliseconds(q)
}

func milliseconds(q report.Quantiles) string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, max %.1f ms", 1e3*q.P50, 1e3*q.P99, 1e3*q.Max)
}

// total returns the number of events that all streams should have.
func (l *load) total() (n int) {
	for i := range l.streams {
		n += len(l.scripts[i%len(l.scripts)].expected)
	}
	return n
}

// err returns an error if a stream failed.
func (l *load) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for text, n := range l.failures {
		return fmt.Errorf("%d failures, among them %d times: %s", len(l.failures), n, text)
	}
	if n := l.total(); l.events != n {
		return fmt.Errorf("%d events, expected %d", l.events, n)
	}
	return nil
}

// String describes the events and their latency.
func (l *load) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("%d streams, %d of %d events as expected", l.streams, l.events, l.total())
	for _, t := range []struct {
		name  string
		times *report.Times
	}{{"latency without faults", &l.calm}, {"latency near faults", &l.faulty}, {"audio stored after", &l.stored}} {
		if q := t.times.Quantiles(); q.Max > 0 {
			text += fmt.Sprintf("\n%s: %s", t.name, milliseconds(q))
		}
	}
	return text
}
