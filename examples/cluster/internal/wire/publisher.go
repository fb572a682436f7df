package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Publisher sends the audio of one stream. It belongs to one goroutine at a time.
type Publisher struct {
	js       jetstream.JetStream
	stream   string
	position int64
}

// attempt is how long a Publisher waits for JetStream's acknowledgement before it sends again.
const attempt = 2 * time.Second

// pause is the time between two attempts.
const pause = 100 * time.Millisecond

// NewPublisher starts a stream. A name can be used once within Options.KeepLines.
func NewPublisher(ctx context.Context, js jetstream.JetStream, stream string, rate float64) (*Publisher, error) {
	if err := CheckName(stream); err != nil {
		return nil, err
	}
	b, err := json.Marshal(Start{SampleRate: rate})
	if err != nil {
		return nil, err
	}
	if _, err := js.Publish(ctx, WorkSubject(stream), b); err != nil {
		return nil, fmt.Errorf("stream %s was not started: %w", stream, err)
	}
	return &Publisher{js: js, stream: stream}, nil
}

// Send sends samples of s16le, at most MaxChunk-ChunkHeader bytes, and waits until JetStream has
// stored them. It repeats the message until then or until ctx ends.
func (p *Publisher) Send(ctx context.Context, pcm []byte) error {
	return p.publish(ctx, Chunk{Position: p.position, PCM: pcm})
}

// End marks the end of the stream.
func (p *Publisher) End(ctx context.Context) error {
	return p.publish(ctx, Chunk{Position: p.position, End: true})
}

func (p *Publisher) publish(ctx context.Context, c Chunk) error {
	message := c.Append(make([]byte, 0, ChunkHeader+len(c.PCM)))
	for {
		once, cancel := context.WithTimeout(ctx, attempt)
		_, err := p.js.Publish(once, AudioSubject(p.stream), message, jetstream.WithExpectStream(AudioStream))
		cancel()
		switch {
		case err == nil: // a message that was stored twice has the same position
			p.position += int64(c.Samples())
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !temporary(err):
			return fmt.Errorf("stream %s: %w", p.stream, err)
		}
		select { // an error may come at once
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// temporary reports whether a broker that restarts, or that is lost and found again, may cause an
// error. JetStream has code 503 for a stream without a leader.
func temporary(err error) bool {
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		return api.Code == http.StatusServiceUnavailable
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
