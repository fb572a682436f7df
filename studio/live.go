package studio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// Limits of a live session.
const (
	minLiveRate = 8000 // Hz
	maxLiveRate = 192000
	maxMessage  = 1 << 20 // bytes
)

// liveStart is the first message of a live session.
type liveStart struct {
	Type      string   `json:"type"`   // start
	Labels    []string `json:"labels"` // of Posteriors
	Threshold float64  `json:"threshold"`
}

// liveFrames answers a message of audio. The events that ended in it are separate messages before
// it (report.Event), with times in samples of the client's rate.
type liveFrames struct {
	Type    string `json:"type"`    // frames
	Samples int64  `json:"samples"` // processed since the beginning, at the client's rate
	// Posteriors of the labels in thousandths, frame after frame, at equal distances.
	Posteriors [][]int `json:"posteriors"`
}

// listen runs the detector on live audio. Binary messages are samples at ?rate, with ?format=s16le.
// Every one is answered with the posteriors of its frames, which tells a client that sends a file
// when to send more. The text message {"type":"end"} flushes the detector; the answer is the last.
func (s *Server) listen(p *project, r *http.Request) (any, error) {
	if format := r.URL.Query().Get("format"); format != string(audio.S16LE) {
		return nil, badRequest("format=%.20q: expected s16le", format)
	}
	asked := r.URL.Query().Get("rate")
	hz, err := strconv.Atoi(asked)
	if err != nil || hz < minLiveRate || hz > maxLiveRate {
		return nil, badRequest("rate=%q: expected %d to %d Hz", asked, minLiveRate, maxLiveRate)
	}
	m, err := p.model()
	if err != nil {
		return nil, err
	}
	rec, err := events.New(m, events.DefaultsFor(m))
	if err != nil {
		return nil, err
	}
	stream, err := rec.NewStream(float64(hz))
	if err != nil {
		return nil, badRequest("rate=%d: %v", hz, err)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") { // last: the page asks why it was refused
		return nil, fail(http.StatusUpgradeRequired, "expected a WebSocket")
	}
	if !s.begin() {
		return nil, fail(http.StatusServiceUnavailable, "%v", errClosed)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.work.Done()
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return // Accept has answered
		}
		start := liveStart{Type: "start", Threshold: events.DefaultsFor(m).Threshold}
		l := &live{conn: conn, stream: stream, frame: int(float64(rec.Frame()) * float64(hz) / rec.SampleRate()), posteriors: [][]int{}} // not null
		for i, label := range m.Meta.Labels {
			if label != events.None {
				start.Labels = append(start.Labels, label)
				l.words = append(l.words, i)
			}
		}
		l.serve(s.ctx, start)
	}), nil
}

// serve runs a session and closes its connection.
func (l *live) serve(ctx context.Context, start liveStart) {
	defer l.conn.CloseNow()
	l.conn.SetReadLimit(maxMessage)
	err := l.send(ctx, start)
	if err == nil {
		err = l.run(ctx)
	}
	switch {
	case ctx.Err() != nil:
		l.conn.Close(websocket.StatusGoingAway, errClosed.Error())
	case errors.Is(err, io.EOF):
		l.conn.Close(websocket.StatusNormalClosure, "")
	case errors.Is(err, errLive):
		l.conn.Close(websocket.StatusUnsupportedData, err.Error())
	default: // of the detector; a connection that failed is closed already
		l.conn.Close(websocket.StatusInternalError, overflow)
	}
}

// errLive is the error of a message that is not audio.
var errLive = errors.New(`expected samples of two bytes, or the text {"type":"end"}`)

// overflow is the reason of the close frame after an error of the detector.
const overflow = "an output of the detector is not a finite number"

// live is a live session.
type live struct {
	conn       *websocket.Conn
	stream     *events.Stream
	frame      int       // samples of the client
	words      []int     // labels other than none
	samples    []float32 // less than a frame, and those of a message
	posteriors [][]int
}

// run processes messages until the end of the session, which is io.EOF.
func (l *live) run(ctx context.Context) error {
	for {
		kind, b, err := l.conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageText {
			if string(b) != `{"type":"end"}` {
				return errLive
			}
			if err := l.process(ctx, true); err != nil {
				return err
			}
			return io.EOF
		}
		if len(b)%2 == 1 {
			return errLive
		}
		from := len(l.samples)
		l.samples = append(l.samples, make([]float32, len(b)/2)...)
		audio.DecodeS16LE(l.samples[from:], b)
		if err := l.process(ctx, false); err != nil {
			return err
		}
	}
}

// process passes whole frames of the samples to the detector, or at the end all of them, and
// answers.
func (l *live) process(ctx context.Context, end bool) error {
	l.posteriors = l.posteriors[:0]
	x := l.samples
	for len(x) >= l.frame || end && len(x) > 0 {
		n := min(l.frame, len(x))
		found, err := l.stream.Process(x[:n])
		if err := errors.Join(l.sendEvents(ctx, found), err); err != nil {
			return err
		}
		thousandths, posterior := make([]int, len(l.words)), l.stream.Posterior()
		for k, i := range l.words {
			if posterior != nil { // after the first evaluation
				thousandths[k] = int(math.Round(1000 * float64(posterior[i])))
			}
		}
		l.posteriors = append(l.posteriors, thousandths)
		x = x[n:]
	}
	taken := l.stream.Position() + int64(len(x))
	l.samples = l.samples[:copy(l.samples, x)]
	if end {
		found, err := l.stream.Flush()
		if err := errors.Join(l.sendEvents(ctx, found), err); err != nil {
			return err
		}
	}
	return l.send(ctx, liveFrames{"frames", taken, l.posteriors})
}

func (l *live) sendEvents(ctx context.Context, list []events.Event) error {
	for _, e := range list {
		if err := l.send(ctx, report.NewEvent(e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) send(ctx context.Context, message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return l.conn.Write(ctx, websocket.MessageText, b)
}
