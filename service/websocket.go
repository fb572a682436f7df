package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
)

// socket serves a WebSocket. Binary messages are audio, the text message {"type":"end"} ends the
// stream, and every line is sent as a text message.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.writeError(w, newError(http.StatusUpgradeRequired, "request",
			"GET without an upgrade to WebSocket: use POST or PUT to send audio in a body"))
		return
	}
	st, q := s.open(w, r, string(audio.S16LE))
	if st == nil {
		return
	}
	defer s.streams.leave(st)
	if st.End == nil {
		if err := st.setRate(q.rate, s.recognizer.SampleRate(), q.resample); err != nil {
			s.streams.release(st, true)
			s.writeError(w, err)
			return
		}
	}
	rec := &statusRecorder{ResponseWriter: w}
	conn, err := websocket.Accept(rec, r, &websocket.AcceptOptions{
		CompressionMode:    websocket.CompressionDisabled,
		InsecureSkipVerify: true, // check has verified the origin
	})
	if err != nil {
		s.streams.release(st, true)
		s.writeError(w, newError(rec.status, "request", "%v", err))
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // a messageSource reads a block at a time and limits the length itself
	block := max(1, int(blockSeconds*st.SampleRate))
	alive, gone := context.WithCancel(context.Background()) // until nothing more is read
	defer gone()
	var src *messageSource // nil for a stream that has ended
	if st.End == nil {
		src = newMessageSource(conn, block, s.opt.MaxMessage, s.opt.Idle, gone)
		src.received = func(ctx context.Context, n int) error { return s.streams.receive(ctx, st, n) }
		defer close(src.done)
	} else {
		go discard(conn, gone)
	}
	var deadline time.Time // of the replies to a ping and to the close frame
	end := func(code websocket.StatusCode, reason string) error {
		if deadline.IsZero() {
			deadline = time.Now().Add(closeTime)
		}
		// Close waits for the client's close frame, and otherwise would read a frame to its end.
		rec.conn.SetReadDeadline(deadline)
		return conn.Close(code, reason)
	}
	session := &session{Server: s, stream: st, named: r.PathValue("id") != "", out: socketSink{conn, s.opt.Slow}, block: block}
	session.confirmed = func() bool {
		// A close frame that was sent before the last lines were received comes before the pong.
		if session.named {
			deadline = time.Now().Add(closeTime)
			ctx, cancel := context.WithDeadline(alive, deadline)
			defer cancel()
			if conn.Ping(ctx) != nil {
				return false
			}
		}
		return end(websocket.StatusNormalClosure, "") == nil
	}
	end(closeStatus(session.run(s.streams.ctx, q.format, src)))
}

// closeTime is how long the service waits for the replies to its close frame and to the ping before
// it.
const closeTime = 5 * time.Second

// closeStatus returns the status and the reason of the close frame that follows a session.
func closeStatus(err error) (websocket.StatusCode, string) {
	var e *apiError
	switch {
	case err == nil:
		return websocket.StatusNormalClosure, ""
	case !errors.As(err, &e):
		return websocket.StatusInternalError, ""
	case e == errShutdown:
		return websocket.StatusServiceRestart, e.code
	case e.code == "message":
		return websocket.StatusMessageTooBig, e.code
	}
	return websocket.StatusPolicyViolation, e.code
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

// messageSource is the audio of a WebSocket. Its goroutine reads one block ahead and no further.
type messageSource struct {
	conn   *websocket.Conn
	gone   func() // called when nothing more is read after the end of the stream
	max    int64  // bytes of a message
	idle   time.Duration
	timer  *time.Timer
	chunks chan chunk
	done   chan struct{} // closed when next is no longer called
	raw    []byte
	bufs   [2][]float32 // the goroutine fills one while the session processes the other

	received func(ctx context.Context, bytes int) error // waits until they are allowed
}

type chunk struct {
	samples []float32
	err     error
}

func newMessageSource(conn *websocket.Conn, block int, maxBytes int64, idle time.Duration, gone func()) *messageSource {
	m := &messageSource{
		conn: conn, gone: gone, max: maxBytes, idle: idle, timer: time.NewTimer(idle),
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
	case c := <-m.chunks:
		if err := m.received(ctx, 2*len(c.samples)); err != nil {
			return nil, err
		}
		return c.samples, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-m.timer.C:
		return nil, errIdle
	}
}

// read delivers chunks until there is an error, such as the end of the connection.
func (m *messageSource) read() {
	for {
		if err := m.message(); err != nil {
			if m.deliver(chunk{err: err}) && err == io.EOF {
				discard(m.conn, m.gone)
			}
			return
		}
	}
}

// discard reads messages until the connection ends, so that control frames are processed. Then it
// calls gone.
func discard(conn *websocket.Conn, gone func()) {
	defer gone()
	for {
		_, r, err := conn.Reader(context.Background())
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return
		}
	}
}

func (m *messageSource) deliver(c chunk) bool {
	select {
	case m.chunks <- c:
		return true
	case <-m.done:
		return false
	}
}

// message reads one message.
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
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return errGone // the library has not unmasked the bytes of an incomplete frame
		}
		if total += int64(n); total > m.max {
			return newError(http.StatusRequestEntityTooLarge, "message", "a message is longer than %d bytes", m.max)
		}
		if n >= 2 && !m.deliver(chunk{samples: m.decode(m.raw[:n])}) {
			return errGone
		}
		switch {
		case err == nil:
		case total%2 == 1:
			return newError(http.StatusBadRequest, "audio", "a message of %d bytes: a sample has 2", total)
		default:
			return nil
		}
	}
}

// decode returns samples in the buffer that the session does not use.
func (m *messageSource) decode(raw []byte) []float32 {
	m.bufs[0], m.bufs[1] = m.bufs[1], m.bufs[0]
	x := m.bufs[0][:len(raw)/2]
	audio.DecodeS16LE(x, raw)
	return x
}

// readEnd reads a text message, which must be the end of the stream.
func readEnd(r io.Reader) error {
	var text struct{ Type string }
	if err := json.NewDecoder(io.LimitReader(r, 1<<10)).Decode(&text); err != nil || text.Type != "end" {
		return newError(http.StatusBadRequest, "request", `a text message: expected {"type":"end"}`)
	}
	return io.EOF
}
