package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// nowhere fails to connect with an error, and counts the attempts.
type nowhere struct {
	err   error
	tried int
	then  func()
}

func (d *nowhere) Dial(string, string) (net.Conn, error) {
	if d.tried++; d.tried == 8 && d.then != nil {
		d.then()
	}
	return nil, d.err
}

// A connection waits for a server that cannot be reached, whatever the reason, until the idle time
// has passed or the user stops it. The reason is logged once.
func TestConnectWaits(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nats", IsNotFound: true}},
		&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		&net.OpError{Op: "dial", Err: errors.New("connection refused")},
		&net.OpError{Op: "read", Err: errors.New("connection reset by peer")},
		io.EOF,
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			d := &nowhere{err: err}
			c := Connection{URL: "nats://me:secret@192.0.2.1", Wait: true, Idle: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil)), dialer: d}
			_, got := Connect(t.Context(), c)
			must.Fail(t, got, ErrIdle, "1h0m0s", "xxxxx@192.0.2.1")
			must.Equal(t, strings.Count(log.String(), "waiting for the NATS server"), 1, "lines about %v", err)
			if d.tried < 3000 || strings.Contains(log.String(), "secret") {
				t.Errorf("%v: %d attempts; log %s", err, d.tried, &log)
			}
			ctx, stop := context.WithCancel(t.Context())
			c.Idle, c.dialer = 0, &nowhere{err: err, then: stop}
			_, got = Connect(ctx, c)
			must.Fail(t, got, context.Canceled)
		})
	}
	d := &nowhere{err: &net.OpError{Op: "dial", Err: errors.New("no route to host")}}
	must.Reject(Connect(t.Context(), Connection{URL: "nats://192.0.2.1", dialer: d}))(t, "no route to host")
	for want, url := range map[string]string{"invalid port": "nats://192.0.2.1:x", "port": "nats://192.0.2.1:99999"} {
		must.Reject(Connect(t.Context(), Connection{URL: url, Wait: true}))(t, want)
	}
}
