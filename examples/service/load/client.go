package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/report"
)

// client sends its script over one connection. It connects at once, sends its first clip after a
// delay, and stays connected until all clients have finished.
func (l *load) client(s *script, delay time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	first, last := began.Add(delay), began.Add(time.Duration(s.rounds)*l.period+s.duration())
	conn, _, err := websocket.Dial(ctx, "ws://"+l.address+"/v1/streams", &websocket.DialOptions{HTTPClient: l.http})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	sent := make([]atomic.Int64, s.rounds*len(s.chunks)) // Unix times in ns
	received := make(chan error, 1)
	go func() {
		err := l.receive(ctx, conn, s, sent)
		if err != nil {
			cancel()
		}
		received <- err
	}()
	for n := range sent {
		due := first.Add(time.Duration(n/len(s.chunks))*l.period + time.Duration(n%len(s.chunks))*chunkDuration)
		if !sleepUntil(ctx, due) {
			return <-received
		}
		sent[n].Store(time.Now().UnixNano())
		if err := conn.Write(ctx, websocket.MessageBinary, s.chunks[n%len(s.chunks)]); err != nil {
			return errors.Join(err, <-received)
		}
	}
	sleepUntil(ctx, last)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`)); err != nil {
		return err
	}
	return <-received
}

// sleepUntil reports whether the time came before ctx was cancelled.
func sleepUntil(ctx context.Context, t time.Time) bool {
	select {
	case <-time.After(time.Until(t)):
		return true
	case <-ctx.Done():
		return false
	}
}

// receive compares the lines with the expected events of the script, up to the end line.
func (l *load) receive(ctx context.Context, conn *websocket.Conn, s *script, sent []atomic.Int64) error {
	for next := 0; ; {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var line report.Event
		if err := json.Unmarshal(b, &line); err != nil {
			return err
		}
		switch line.Type {
		case "start":
		case "event":
			if next == len(s.expected) {
				return fmt.Errorf("event %d is %s, expected the end", next, b)
			}
			want := s.expected[next]
			if line != want.event {
				return fmt.Errorf("event %d is %s, expected %+v", next, b, want.event)
			}
			l.record(time.Since(time.Unix(0, sent[want.chunk].Load())))
			next++
		case "end":
			if next != len(s.expected) {
				return fmt.Errorf("%d events, expected %d", next, len(s.expected))
			}
			return nil
		default:
			return errors.New(string(b))
		}
	}
}
