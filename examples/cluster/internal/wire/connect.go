package wire

import (
	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/internal/redact"
)

// Connect connects to NATS. credentials is the file of a user; "": none. Errors do not show
// passwords.
func Connect(urls, credentials string, opt ...nats.Option) (*nats.Conn, error) {
	if credentials != "" {
		opt = append(opt, nats.UserCredentials(credentials))
	}
	nc, err := nats.Connect(urls, opt...)
	if err != nil {
		return nil, redact.Error(urls, err)
	}
	return nc, nil
}
