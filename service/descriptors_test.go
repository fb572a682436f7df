package service

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// closingListener reports each connection that the server has closed.
type closingListener struct {
	net.Listener
	closed chan bool
}

func (l closingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &closingConn{TCPConn: c.(*net.TCPConn), closed: l.closed}, nil
}

type closingConn struct {
	*net.TCPConn
	closed chan bool
	once   sync.Once
}

func (c *closingConn) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(func() { c.closed <- true })
	return err
}

// descriptors returns the number of open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the number of open files is unknown: %v", err)
	}
	return len(list)
}

// TCP connections of all kinds leave no file descriptor: uploads and WebSockets that end, that are
// interrupted, and that are rejected. The server saves the streams that are interrupted.
func TestDescriptors(t *testing.T) {
	descriptors(t)
	pcm := encode(tonemodel.Words().Samples[:800])
	m := toneModel(t, 0)
	opt := Defaults()
	opt.Snapshots = t.TempDir()
	s := must.Get(New(m, events.DefaultsFor(m), opt))(t)
	tcp := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l := closingListener{tcp, make(chan bool, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()

	chunked := "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(pcm), pcm)
	socket := fmt.Sprintf(upgradeRequest, "/v1/streams") + string(frame(opBinary, pcm))
	kinds := []struct {
		request  string
		response bool
	}{
		{chunked + "0\r\n\r\n", true}, {chunked, true}, {socket + string(frame(opText, []byte(`{"type":"end"}`))), true},
		{socket, true}, {socket[:40], false}, {"", false}, {"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		{"PUT /v1/streams HTTP/1.1\r\nHost: evil\r\nContent-Length: 5\r\n\r\nab", true},
	}
	connect := func(i int) {
		conn := must.Get(net.Dial("tcp", tcp.Addr().String()))(t)
		k := kinds[i%len(kinds)]
		_, err := io.WriteString(conn, k.request)
		if k.response && err == nil {
			_, err = io.ReadFull(conn, make([]byte, 12))
		}
		must.Do(t, err)
		conn.Close()
		<-l.closed
	}
	for i := range kinds { // what is opened once
		connect(i)
	}
	before := descriptors(t)
	n, held := must.Cases(200, 100_000), 0
	for i := range n {
		connect(i)
		if now := descriptors(t); now == before {
			held++
		} else {
			t.Errorf("connection %d: %d descriptors, %d before", i, now, before)
		}
	}
	cancel()
	must.Do(t, <-done)
	must.Tally(t, "a TCP connection leaves no file descriptor", n, held)
}
