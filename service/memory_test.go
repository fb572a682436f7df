package service

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// memoryListener accepts connections without sockets. Nothing is buffered, and deadlines follow the
// clock of a synctest bubble.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func listenInMemory() *memoryListener {
	l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Accepted connections stay open.
func (l *memoryListener) Close() error {
	l.close()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

// Dial returns the client's end of a new connection, after Accept has taken the server's end.
func (l *memoryListener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// client returns an HTTP client that connects to l whatever the address.
func (l *memoryListener) client() *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}
