package service

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTime  = 10 * time.Second // for a TLS handshake, and for the header of a request
	headerBytes = 1 << 14          // of the header of a request; net/http adds 4 KiB

	// lingerTime is how long a closed connection reads what the client still sends. Without that
	// the system resets the connection, and a client that sends its whole request before it reads
	// loses the response (RFC 9112, §9.6).
	lingerTime = 10 * time.Second

	// shutdownLinger is how long a shutdown waits for such connections after the streams have
	// ended.
	shutdownLinger = time.Second

	// maxRejected is how many connections beyond the limit may be open at a time, to receive
	// status 503. More wait in the system's queue, where they need no file descriptor.
	maxRejected = 32

	// reservedFiles are the file descriptors that are not for connections within the limit:
	// rejected connections, snapshots that are being written, their lock, the listener, the log.
	reservedFiles = maxRejected + 64

	// maxRejectedPerClient is how many connections beyond the limit of a client may be open at a
	// time, to receive status 429. More are closed at once.
	maxRejectedPerClient = 4
)

// limitListener limits the number of open connections, in total and per client, and closes them so
// that the last response arrives.
type limitListener struct {
	net.Listener
	max, perClient int
	open           chan struct{} // one element per open connection, rejected and lingering ones too
	mu             sync.Mutex    // protects clients
	clients        map[string]int
}

func newLimitListener(l net.Listener, maxOpen, perClient int) *limitListener {
	return &limitListener{Listener: l, max: maxOpen, perClient: perClient, open: make(chan struct{}, maxOpen+maxRejected), clients: map[string]int{}}
}

// Accept implements net.Listener. Connections far beyond the limit of their client are closed
// without a response.
func (l *limitListener) Accept() (net.Conn, error) {
	l.open <- struct{}{}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.open
			return nil, err
		}
		address := clientAddress(c.RemoteAddr().String())
		n := l.count(address, 1)
		release := sync.OnceFunc(func() {
			l.count(address, -1)
			<-l.open
		})
		switch {
		case n > l.perClient+maxRejectedPerClient:
			l.count(address, -1)
			c.Close()
		case n > l.perClient:
			return &connection{Conn: c, release: release, rejected: newError(http.StatusTooManyRequests, "client",
				"this client has %d connections open, the maximum", l.perClient)}, nil
		case len(l.open) > l.max:
			return &connection{Conn: c, release: release, rejected: newError(http.StatusServiceUnavailable, "connections",
				"%d connections are open, the maximum", l.max)}, nil
		default:
			return &connection{Conn: c, release: release}, nil
		}
	}
}

// count changes the number of open connections of a client, and returns it.
func (l *limitListener) count(address string, change int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.clients[address] + change
	if l.clients[address] = n; n == 0 {
		delete(l.clients, address)
	}
	return n
}

// wait waits until all connections are closed or ctx ends.
func (l *limitListener) wait(ctx context.Context) {
	n := 0
	for n < cap(l.open) && ctx.Err() == nil {
		select {
		case l.open <- struct{}{}:
			n++
		case <-ctx.Done():
		}
	}
	for range n {
		<-l.open
	}
}

// rejectedKey is the context key of requests over connections beyond a limit. The value is the
// *apiError.
type rejectedKey struct{}

// connContext marks the requests of a rejected connection; see http.Server.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if t, is := c.(*tls.Conn); is {
		c = t.NetConn()
	}
	if c, is := c.(*connection); is && c.rejected != nil {
		return context.WithValue(ctx, rejectedKey{}, c.rejected)
	}
	return ctx
}

// connection is a connection of a limitListener.
type connection struct {
	net.Conn
	rejected *apiError // the response to every request, or nil
	release  func()
	reading  sync.Mutex // held by Read
	mu       sync.Mutex // protects closed, and the read deadline after Close
	closed   bool
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if c.isClosed() { // the bytes are discarded
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. After Close the deadline is that of the discarded bytes.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return c.Conn.SetReadDeadline(t)
}

// Close closes the sending side and ends a Read at once. If the client still sends, Close discards
// that for up to lingerTime in the background.
func (c *connection) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	tcp, is := c.Conn.(interface{ CloseWrite() error })
	if !is || tcp.CloseWrite() != nil {
		defer c.release()
		return c.Conn.Close()
	}
	c.Conn.SetReadDeadline(time.Unix(1, 0)) // ends a Read
	go func() {
		defer c.release()
		c.reading.Lock() // waits for that Read, which a later deadline would let go on
		c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		c.reading.Unlock()
		io.Copy(io.Discard, c.Conn)
		c.Conn.Close()
	}()
	return nil
}

// Serve accepts at most Options.Connections connections from a listener and serves them until ctx
// is cancelled. Then it closes the Server as Close does, within Options.Grace, and returns an error
// if streams were not saved. If the listener fails, Serve returns that error without closing the
// Server: call Close.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	l := newLimitListener(listener, s.opt.Connections, s.opt.ConnectionsPerClient)
	h := &http.Server{ // a response that takes longer than WriteTimeout sets its own deadlines
		Handler: s, ConnContext: connContext, ReadHeaderTimeout: headerTime, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: headerBytes, ErrorLog: s.errorLog(), TLSConfig: s.opt.TLS, Protocols: &http.Protocols{},
		DisableGeneralOptionsHandler: true, // net/http would respond to "OPTIONS *" without the checks of ServeHTTP
	}
	h.Protocols.SetHTTP1(true) // a stream has a connection of its own, which its limits assume
	failed := make(chan error, 1)
	go func() {
		if s.opt.TLS != nil {
			failed <- h.ServeTLS(l, "", "")
			return
		}
		failed <- h.Serve(l)
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	began := time.Now()
	s.streams.drain()
	end, cancel := context.WithTimeout(context.Background(), s.opt.Grace)
	defer cancel()
	h.Shutdown(end) // returns without waiting for WebSockets
	err := s.streams.wait(end)
	h.Close()
	end, cancel = context.WithTimeout(end, shutdownLinger)
	defer cancel()
	l.wait(end)
	s.opt.Log.Info("stopped", "took", time.Since(began))
	return err
}

// Close rejects new streams, saves the connected ones and informs their clients, which takes at
// most Options.Grace. It is an error if streams were not saved. When all have ended, another Server
// may use the folder of the snapshots. A program that does not call Serve, or whose Serve has
// failed, calls Close.
func (s *Server) Close() error {
	s.streams.drain()
	end, cancel := context.WithTimeout(context.Background(), s.opt.Grace)
	defer cancel()
	return s.streams.wait(end)
}
