package service

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// socket serves a WebSocket. Binary messages are audio, the text message {"type":"end"} ends the
// stream, and every line is sent as a text message.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.writeError(w, newError(http.StatusUpgradeRequired, "request",
			"GET without an upgrade to WebSocket: use POST or PUT to send audio in a body"))
		return
	}
	st, in := s.open(w, r)
	if st == nil {
		return
	}
	defer s.streams.leave(st)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		CompressionMode:    websocket.CompressionDisabled,
		InsecureSkipVerify: true, // check has verified the origin
	})
	if err != nil { // Accept has responded
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(s.opt.MaxMessage)
	body, bytes := io.Pipe()
	go s.receive(st.ctx, conn, bytes)
	err = s.serve(st, in, body, socketSink{s, conn})
	st.cancel(nil)
	// Otherwise Close, which waits for the client's close frame, would read another one to its end.
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(5 * time.Second))
	switch err {
	case nil:
		conn.Close(websocket.StatusNormalClosure, "")
	case errShutdown:
		conn.Close(websocket.StatusServiceRestart, errShutdown.code)
	default:
		conn.Close(websocket.StatusPolicyViolation, "")
	}
}

// socketSink sends lines as text messages.
type socketSink struct {
	*Server
	conn *websocket.Conn
}

func (a socketSink) reject(err error) error {
	e := a.asAPIError(err)
	a.send(e.line())
	return e
}

func (a socketSink) send(line any) error {
	b, _ := json.Marshal(line) // cannot fail: its numbers are finite
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

// receive writes the bytes of messages to a pipe, and discards them when ctx has ended, until the
// connection ends.
func (s *Server) receive(ctx context.Context, conn *websocket.Conn, w *io.PipeWriter) {
	defer context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })()
	idle := time.AfterFunc(s.opt.Idle, func() { w.CloseWithError(errIdle) })
	defer idle.Stop()
	for {
		kind, data, err := conn.Read(context.Background())
		switch {
		case err != nil:
			w.CloseWithError(errGone)
			return
		case kind == websocket.MessageText:
			w.CloseWithError(endOf(data))
		case len(data) > 0:
			idle.Stop()
			w.Write(data)
			idle.Reset(s.opt.Idle)
		}
	}
}

// endOf returns io.EOF for the text message that ends a stream, and an error for others.
func endOf(message []byte) error {
	var text struct{ Type string }
	if err := json.Unmarshal(message, &text); err != nil || text.Type != "end" {
		return newError(http.StatusBadRequest, "request", `a text message: expected {"type":"end"}`)
	}
	return io.EOF
}
