package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
)

// socket speaks WebSocket: binary messages are audio, the text message {"type":"end"} ends it; every answer is a text message with a line.
func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.writeError(w, newError(http.StatusUpgradeRequired, "request", "GET is for WebSocket; POST or PUT audio"))
		return
	}
	st, q := s.open(w, r, string(audio.S16LE))
	if st == nil {
		return
	}
	defer s.streams.handlers.Done()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil { // which Accept has answered
		s.streams.release(st, true)
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // messages are read a block at a time, and their length is counted there
	src := newMessageSource(conn, s.blockSize(), s.cfg.MaxMessage, s.cfg.Idle)
	defer close(src.done)
	err = newSession(s, st, socketSink{conn, s.cfg.Slow}, q.events, s.blockSize()).run(s.streams.ctx, q.format, src)
	conn.Close(closeStatus(err))
}

// closeStatus returns how to close the connection.
func closeStatus(err error) (websocket.StatusCode, string) {
	var f *apiError
	switch {
	case err == nil:
		return websocket.StatusNormalClosure, ""
	case !errors.As(err, &f):
		return websocket.StatusInternalError, ""
	case f == errShutdown:
		return websocket.StatusServiceRestart, f.why
	case f.why == "message":
		return websocket.StatusMessageTooBig, f.why
	}
	return websocket.StatusPolicyViolation, f.why
}

// socketSink sends lines as text messages.
type socketSink struct {
	conn *websocket.Conn
	slow time.Duration
}

func (a socketSink) send(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.slow)
	defer cancel()
	if err := a.conn.Write(ctx, websocket.MessageText, b); err != nil {
		if ctx.Err() != nil {
			return errSlow
		}
		return errGone
	}
	return nil
}

// messages is the audio of a connection. Its goroutine reads one block ahead and no further.
type messageSource struct {
	conn   *websocket.Conn
	max    int64
	idle   time.Duration
	timer  *time.Timer
	chunks chan chunk
	done   chan struct{} // closed when nobody takes chunks any more
	raw    []byte
	bufs   [2][]float32 // one is being filled, the other is being heard
}

type chunk struct {
	samples []float32
	err     error
}

func newMessageSource(conn *websocket.Conn, block int, maxBytes int64, idle time.Duration) *messageSource {
	m := &messageSource{
		conn: conn, max: maxBytes, idle: idle, timer: time.NewTimer(idle),
		chunks: make(chan chunk), done: make(chan struct{}), raw: make([]byte, 2*block),
		bufs: [2][]float32{make([]float32, block), make([]float32, block)},
	}
	go m.read()
	return m
}

// next implements source.
func (m *messageSource) next(ctx context.Context) ([]float32, error) {
	m.timer.Reset(m.idle)
	select {
	case p := <-m.chunks:
		return p.samples, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-m.timer.C:
		return nil, errIdle
	}
}

// read hands on chunks until there is an error; the connection's end is one.
func (m *messageSource) read() {
	for {
		if err := m.message(); err != nil {
			m.deliver(chunk{err: err})
			return
		}
	}
}

func (m *messageSource) deliver(p chunk) bool {
	select {
	case m.chunks <- p:
		return true
	case <-m.done:
		return false
	}
}

// message reads one.
func (m *messageSource) message() error {
	kind, r, err := m.conn.Reader(context.Background())
	if err != nil {
		return errGone
	}
	if kind == websocket.MessageText {
		return readEnd(r)
	}
	for total := int64(0); ; {
		n, err := io.ReadFull(r, m.raw)
		if total += int64(n); total > m.max {
			return newError(http.StatusRequestEntityTooLarge, "message", "a message has more than %d bytes", m.max)
		}
		if n >= 2 && !m.deliver(chunk{samples: m.decode(m.raw[:n])}) {
			return errGone
		}
		switch {
		case err == nil:
		case err != io.EOF && err != io.ErrUnexpectedEOF:
			return errGone
		case total%2 == 1:
			return newError(http.StatusBadRequest, "audio", "a message of %d bytes: a sample has 2", total)
		default:
			return nil
		}
	}
}

// decode returns samples in the buffer that is not being heard.
func (m *messageSource) decode(raw []byte) []float32 {
	m.bufs[0], m.bufs[1] = m.bufs[1], m.bufs[0]
	x := m.bufs[0][:len(raw)/2]
	for i := range x {
		x[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / (1 << 15)
	}
	return x
}

// ending reads a text message, which must be the end.
func readEnd(r io.Reader) error {
	var text struct{ Type string }
	if err := json.NewDecoder(io.LimitReader(r, 1<<10)).Decode(&text); err != nil || text.Type != "end" {
		return newError(http.StatusBadRequest, "request", `a text message that is not {"type":"end"}`)
	}
	return io.EOF
}
