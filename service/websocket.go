package service

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/report"
)

// socket serves a WebSocket. Binary messages are audio, the text message {"type":"end"} ends the
// stream, and every line is sent as a text message.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.writeError(w, newError(http.StatusUpgradeRequired, "request",
			"GET without an upgrade to WebSocket: use POST or PUT to send audio in a body"))
		return
	}
	st, q := s.open(w, r, append(slices.Clip(files), string(audio.S16LE))...)
	if st == nil {
		return
	}
	defer s.streams.leave(st)
	if st.End == nil && q.raw() {
		if err := s.prepare(st, q.rate, q.resample); err != nil {
			s.writeError(w, err)
			return
		}
	}
	h := &hijacker{ResponseWriter: w}
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		CompressionMode:    websocket.CompressionDisabled,
		InsecureSkipVerify: true, // check has verified the origin
	})
	if err != nil { // Accept has responded
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(s.opt.MaxMessage)
	src := &messageSource{ctx: st.ctx, idle: s.opt.Idle, messages: make(chan message)}
	go src.readAhead(conn)
	out := socketSink{s, conn}
	if q.raw() && st.End == nil {
		session := &session{Server: s, stream: st, out: out, block: max(1, int(blockSeconds*st.SampleRate))}
		err = session.run(q.format, src)
	} else {
		err = s.serve(st, q, src, out)
	}
	st.cancel(nil)
	h.conn.SetReadDeadline(time.Now().Add(closeTime)) // otherwise Close would read a frame to its end
	conn.Close(closeStatus(err))
}

// closeTime is how long the service waits for the reply to its close frame.
const closeTime = 5 * time.Second

// hijacker records the connection of a WebSocket.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (conn net.Conn, buf *bufio.ReadWriter, err error) {
	conn, buf, err = http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, buf, err
}

// blockSeconds is the longest audio of a message that is processed at a time.
const blockSeconds = 0.1

// closeStatus returns the status of the close frame that follows a session, and its reason.
func closeStatus(err error) (websocket.StatusCode, string) {
	switch err {
	case nil:
		return websocket.StatusNormalClosure, ""
	case errShutdown:
		return websocket.StatusServiceRestart, errShutdown.code
	}
	return websocket.StatusPolicyViolation, ""
}

// socketSink sends lines as text messages.
type socketSink struct {
	*Server
	conn *websocket.Conn
}

func (a socketSink) reject(err error) error {
	e := a.asAPIError(err)
	a.send(report.Error{Type: "error", Code: e.code, Error: e.text})
	return e
}

func (a socketSink) send(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.opt.Slow)
	defer cancel()
	if err := a.conn.Write(ctx, websocket.MessageText, b); err != nil {
		if ctx.Err() != nil {
			return errSlow
		}
		return errGone
	}
	return nil
}

// messageSource is the audio of a WebSocket: a source of samples, and a reader of the bytes of a
// file. Its goroutine reads one message ahead.
type messageSource struct {
	ctx      context.Context
	idle     time.Duration
	messages chan message
	samples  []float32

	rest []byte // of a message, for Read
	err  error  // returned by every later Read
}

type message struct {
	kind websocket.MessageType
	data []byte
	err  error
}

// readAhead delivers messages, and discards them when ctx has ended, until the connection ends.
func (m *messageSource) readAhead(conn *websocket.Conn) {
	for {
		var v message
		v.kind, v.data, v.err = conn.Read(context.Background())
		select {
		case m.messages <- v:
		case <-m.ctx.Done():
		}
		if v.err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (m *messageSource) Read(b []byte) (n int, err error) {
	if len(m.rest) == 0 && m.err == nil {
		m.rest, m.err = m.receive()
	}
	if m.err != nil {
		return 0, m.err
	}
	n = copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// next implements source.
func (m *messageSource) next() ([]float32, error) {
	b, err := m.receive()
	if err != nil {
		return nil, err
	}
	if m.samples == nil {
		if err := checkSamples(b); err != nil {
			return nil, err
		}
	}
	n := len(b) / 2
	m.samples = slices.Grow(m.samples[:0], n)[:n]
	audio.DecodeS16LE(m.samples, b[:2*n])
	if len(b)%2 == 1 {
		return m.samples, newError(http.StatusBadRequest, "audio", "a message of %d bytes: a sample has 2", len(b))
	}
	return m.samples, nil
}

// receive returns the next message that is not empty.
func (m *messageSource) receive() ([]byte, error) {
	timer := time.NewTimer(m.idle)
	defer timer.Stop()
	for {
		select {
		case v := <-m.messages:
			if b, err := v.audio(); len(b) > 0 || err != nil {
				return b, err
			}
		case <-m.ctx.Done():
			return nil, context.Cause(m.ctx)
		case <-timer.C:
			return nil, errIdle
		}
	}
}

// audio returns the bytes of a message. A text message is the end of the stream.
func (v message) audio() ([]byte, error) {
	if v.err != nil {
		return nil, errGone
	}
	if v.kind == websocket.MessageText {
		var text struct{ Type string }
		if err := json.Unmarshal(v.data, &text); err != nil || text.Type != "end" {
			return nil, newError(http.StatusBadRequest, "request", `a text message: expected {"type":"end"}`)
		}
		return nil, io.EOF
	}
	return v.data, nil
}
