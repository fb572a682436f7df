package service

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// newLimiter returns a limiter of so many units per second, or of none if that is 0.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, math.MaxInt)
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(max(1, min(perSecond*blockSeconds, 1<<30))))
}

// refill returns how long an idle limiter takes to refill, at most an hour.
func refill(l *rate.Limiter) time.Duration {
	return time.Duration(min(float64(l.Burst())/float64(l.Limit())*1e9+1, 3.6e12))
}

// wait waits until n units are allowed.
func wait(ctx context.Context, l *rate.Limiter, n int) error {
	for n > 0 {
		k := min(n, l.Burst())
		if err := l.WaitN(ctx, k); err != nil {
			return context.Cause(ctx)
		}
		n -= k
	}
	return nil
}

// client returns the client of a connected stream.
func (s *streams) client(st *stream) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[st.Client]
}

// pace waits until the client of a stream may send so many samples more.
func (s *streams) pace(ctx context.Context, st *stream, samples int) error {
	return wait(ctx, s.client(st).audio, int(float64(samples)/st.SampleRate*1e6))
}

// turnSeconds is how long a client may receive at the limit for all clients before it is another
// client's turn.
const turnSeconds = 1e-3

// receive waits until the client of a stream, and all clients together, may send so many bytes
// more. Under MaxBytes, clients take turns of turnSeconds: bytes wait for the turn in progress, and
// for at most one of every other client, however many streams it has. More bytes than those of a
// turn take several.
func (s *streams) receive(ctx context.Context, st *stream, bytes int) error {
	if err := wait(ctx, s.client(st).bytes, bytes); err != nil || s.opt.MaxBytes == 0 {
		return err
	}
	for most := max(1, int(float64(s.opt.MaxBytes)*turnSeconds)); bytes > 0; bytes -= most {
		if err := s.turns.acquire(ctx, st.Client); err != nil {
			return err
		}
		err := wait(ctx, s.bytes, min(bytes, most))
		s.turns.release()
		if err != nil {
			return err
		}
	}
	return nil
}
