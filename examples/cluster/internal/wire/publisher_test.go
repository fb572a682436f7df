package wire

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// electing is a JetStream that returns errors before it stores a message.
type electing struct {
	jetstream.JetStream
	errs []error
}

func (e *electing) Publish(context.Context, string, []byte, ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if len(e.errs) == 0 {
		return &jetstream.PubAck{}, nil
	}
	err := e.errs[0]
	e.errs = e.errs[1:]
	return nil, err
}

// A publisher repeats a message while JetStream elects a leader, and not after other errors.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		election := &jetstream.APIError{Code: 503, Description: "JetStream system temporarily unavailable"}
		p := &Publisher{js: &electing{errs: []error{election, jetstream.ErrNoStreamResponse, context.DeadlineExceeded, election}}, stream: "mic"}
		must.Do(t, p.Send(t.Context(), make([]byte, 8)))
		must.Equal(t, p.position, 4, "position")
		p.js = &electing{errs: []error{election, &jetstream.APIError{Code: 400, Description: "no space"}}}
		must.Fail(t, p.Send(t.Context(), make([]byte, 8)), "stream mic:", "no space")
		must.Equal(t, p.position, 4, "position after an error")
	})
}
