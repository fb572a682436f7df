// Package memnet connects HTTP clients to a server in the same process without sockets. Nothing is
// buffered, and deadlines follow the clock of a synctest bubble. Imported by tests only.
package memnet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listener accepts the connections that Dial makes.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// Listen returns a new listener.
func Listen() *Listener {
	l := &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Accepted connections stay open.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

// Dial returns the client's end of a new connection, after Accept has taken the server's end.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	requestOut, requestIn := net.Pipe()
	responseOut, responseIn := net.Pipe()
	select {
	case l.conns <- &conn{responseOut, requestIn}:
		return &conn{requestOut, responseIn}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// conn is one end of a connection. Each direction has a pipe, so that it can be closed by itself.
type conn struct {
	net.Conn // where Write writes
	in       net.Conn
}

func (c *conn) Read(b []byte) (int, error)        { return c.in.Read(b) }
func (c *conn) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetDeadline(t), c.in.SetDeadline(t))
}
func (c *conn) CloseWrite() error { return c.Conn.Close() }
func (c *conn) Close() error      { return errors.Join(c.Conn.Close(), c.in.Close()) }

// Client returns an HTTP client that connects to l whatever the address.
func (l *Listener) Client() *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}
