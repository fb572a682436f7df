package service

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// handshake returns a connection to a WebSocket, of which nothing was read yet.
func (in *instance) handshake(path string) net.Conn {
	in.t.Helper()
	conn := must.Get(in.listener.Dial(in.t.Context()))(in.t)
	in.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, upgradeRequest, path)
	return conn
}

// The first bytes of complete WebSocket frames.
const (
	opBinary = 0x82
	opPing   = 0x89
)

// frame returns a client's frame of less than 64 KiB, masked with 0.
func frame(first byte, payload []byte) []byte {
	b := []byte{first, 0x80 | byte(min(len(payload), 126))}
	if len(payload) >= 126 {
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// wsClient is a WebSocket client that receives lines all the time.
type wsClient struct {
	t        *testing.T
	conn     *websocket.Conn
	received chan string          // lines; closed with the connection
	status   websocket.StatusCode // after that
	lines    []string             // taken from received
}

// headers returns a header of alternating keys and values.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for pair := range slices.Chunk(pairs, 2) {
		h.Set(pair[0], pair[1])
	}
	return h
}

// websocket opens a WebSocket.
func (in *instance) websocket(path string, pairs ...string) (*websocket.Conn, *http.Response, error) {
	opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: headers(pairs...)}
	conn, response, err := websocket.Dial(in.t.Context(), "ws://"+in.address+path, opt)
	if conn != nil {
		in.t.Cleanup(func() { conn.CloseNow() })
	}
	return conn, response, err
}

// dial begins a stream on a WebSocket, of s16le unless the path states a format.
func (in *instance) dial(path string) *wsClient {
	in.t.Helper()
	if !strings.Contains(path, "format=") {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "format=s16le"
	}
	conn, _, err := in.websocket(path)
	if err != nil {
		in.t.Fatal(err)
	}
	c := &wsClient{t: in.t, conn: conn, received: make(chan string, 1000)}
	go func() {
		defer close(c.received)
		for {
			_, b, err := conn.Read(context.Background())
			if err != nil {
				c.status = websocket.CloseStatus(err)
				return
			}
			c.received <- string(b)
		}
	}()
	return c
}

// sendAudio sends audio in messages of some bytes.
func (c *wsClient) sendAudio(pcm []byte, size int) {
	c.t.Helper()
	for message := range slices.Chunk(pcm, size) {
		if err := c.conn.Write(c.t.Context(), websocket.MessageBinary, message); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *wsClient) sendText(s string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(s)); err != nil {
		c.t.Fatal(err)
	}
}

// line waits for the next line.
func (c *wsClient) line() string {
	c.t.Helper()
	line, ok := <-c.received
	if !ok {
		c.t.Fatalf("the connection was closed with %v", c.status)
	}
	c.lines = append(c.lines, line)
	return line
}

// rest waits for the connection's end, and returns all lines and the status of the close frame.
func (c *wsClient) rest() (transcript, websocket.StatusCode) {
	c.t.Helper()
	for line := range c.received {
		c.lines = append(c.lines, line)
	}
	return parse(c.t, strings.Join(c.lines, "\n")), c.status
}
