// Package wyoming serves a detector over the Wyoming protocol, through which voice assistants find
// wake words. A message is a line of JSON with a type, then as many bytes of JSON and of a payload
// as the line states. A client sends describe, or detect and audio; the server responds with info,
// detection and not-detected.
package wyoming

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
)

// Limits of a message.
const (
	maxLine    = 1 << 16 // bytes of the line, and of the JSON after it
	maxPayload = 1 << 20 // bytes
)

// Server is a detector and the limits of its clients.
type Server struct {
	Model      *model.Model
	Name       string // of the model
	Detect     events.Options
	MaxClients int           // connected at a time
	Idle       time.Duration // longest time between messages
	Log        *slog.Logger
}

// Serve serves the connections of a listener until ctx is cancelled or the listener fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	r, err := events.New(s.Model, s.Detect)
	if err != nil {
		l.Close()
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	places := make(chan struct{}, s.MaxClients)
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		select {
		case places <- struct{}{}:
		default: // too many
			conn.Close()
			continue
		}
		clients.Go(func() {
			defer func() { <-places }()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			defer conn.Close()
			if err := s.client(&session{Server: s, recognizer: r, conn: conn}); err != nil && ctx.Err() == nil {
				s.Log.Warn("wyoming: client rejected", "error", err)
			}
		})
	}
}

// message is a message with the fields of all types that the server reads or sends. Others are
// ignored.
type message struct {
	Type          string `json:"type"`
	Data          *data  `json:"data,omitempty"`
	DataLength    int    `json:"data_length,omitempty"`
	PayloadLength int    `json:"payload_length,omitempty"`
	payload       []byte
}

type data struct {
	Rate      int       `json:"rate,omitempty"`
	Width     int       `json:"width,omitempty"` // bytes of a sample
	Channels  int       `json:"channels,omitempty"`
	Timestamp *int64    `json:"timestamp,omitempty"` // milliseconds
	Names     []string  `json:"names,omitempty"`     // of the wake words to detect
	Name      string    `json:"name,omitempty"`      // of a detected one
	Text      string    `json:"text,omitempty"`      // of ping and pong
	Wake      []program `json:"wake,omitempty"`
}

// program describes a program or a model that detects wake words.
type program struct {
	Name        string            `json:"name"`
	Attribution map[string]string `json:"attribution"`
	Installed   bool              `json:"installed"`
	Description string            `json:"description"`
	Languages   []string          `json:"languages,omitzero"` // those of a model; there are none
	Models      []program         `json:"models,omitempty"`
}

// read reads a message. io.EOF says that the client is gone.
func read(in *bufio.Reader) (m message, err error) {
	line, err := in.ReadSlice('\n') // bufio.ErrBufferFull: more than maxLine bytes
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		return m, err
	}
	if m.DataLength < 0 || m.DataLength > maxLine || m.PayloadLength < 0 || m.PayloadLength > maxPayload {
		return m, fmt.Errorf("%.20q with %d and %d bytes, expected at most %d and %d", m.Type, m.DataLength, m.PayloadLength, maxLine, maxPayload)
	}
	rest := make([]byte, m.DataLength+m.PayloadLength)
	if _, err := io.ReadFull(in, rest); err != nil {
		return m, err
	}
	if m.Data == nil {
		m.Data = &data{}
	}
	if m.DataLength > 0 {
		err = json.Unmarshal(rest[:m.DataLength], m.Data)
	}
	m.payload = rest[m.DataLength:]
	return m, err
}

type session struct {
	*Server
	recognizer *events.Recognizer
	conn       net.Conn
	names      []string // of the words to detect; none: all
	format     data     // of the audio
	stream     *events.Stream
	detected   bool // since the audio has started
}

// client serves a connection until it ends. Messages of other types have no meaning for wake words.
func (s *Server) client(c *session) error {
	in := bufio.NewReaderSize(c.conn, maxLine)
	for {
		c.conn.SetReadDeadline(time.Now().Add(s.Idle))
		m, err := read(in)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
		case m.Type == "describe":
			err = c.send("info", &data{Wake: c.describe()})
		case m.Type == "ping":
			err = c.send("pong", &data{Text: m.Data.Text})
		case m.Type == "detect":
			c.names = m.Data.Names
		case m.Type == "audio-start":
			err = c.start(*m.Data)
		case m.Type == "audio-chunk":
			err = c.chunk(m)
		case m.Type == "audio-stop" && c.stream != nil:
			err = c.stop()
		}
		if err != nil {
			return err
		}
	}
}

func (c *session) send(kind string, d *data) error {
	text, _ := json.Marshal(d) // plain values
	line, _ := json.Marshal(message{Type: kind, DataLength: len(text)})
	c.conn.SetWriteDeadline(time.Now().Add(c.Idle))
	_, err := c.conn.Write(bytes.Join([][]byte{line, text}, []byte{'\n'}))
	return err
}

// describe returns what the server detects: a model for each word.
func (c *session) describe() []program {
	by := map[string]string{"name": "s4d-fast", "url": "https://github.com/s4d-fast/s4d-fast"}
	p := program{Name: "s4d-fast", Description: "Wake words of the model " + c.Name, Attribution: by, Installed: true}
	for _, word := range c.Model.Meta.Labels {
		if word != events.None {
			p.Models = append(p.Models, program{Name: word, Description: word, Attribution: by, Installed: true, Languages: []string{}})
		}
	}
	return []program{p}
}

// start begins audio of a format.
func (c *session) start(d data) error {
	if d.Rate < 1 || d.Width != 2 || d.Channels < 1 || d.Channels > 8 {
		return fmt.Errorf("audio at %d Hz with %d bytes a sample and %d channels: expected 2 bytes and 1 to 8 channels", d.Rate, d.Width, d.Channels)
	}
	stream, err := c.recognizer.NewStream(float64(d.Rate))
	c.format, c.stream, c.detected = d, stream, false
	return err
}

// chunk processes the mean of the channels of a chunk.
func (c *session) chunk(m message) error {
	if c.stream == nil || m.Data.Rate > 0 && (m.Data.Rate != c.format.Rate || m.Data.Channels != c.format.Channels || m.Data.Width != c.format.Width) {
		if err := c.start(*m.Data); err != nil {
			return err
		}
	}
	n := c.format.Channels
	if len(m.payload)%(2*n) != 0 {
		return fmt.Errorf("an audio chunk of %d bytes, expected a multiple of %d", len(m.payload), 2*n)
	}
	all := make([]float32, len(m.payload)/2)
	audio.DecodeS16LE(all, m.payload)
	x := make([]float32, len(all)/n)
	for i, v := range all {
		x[i/n] += v / float32(n)
	}
	found, err := c.stream.Process(x)
	return c.report(found, err)
}

func (c *session) stop() error {
	err := c.report(c.stream.Flush())
	c.stream = nil
	if err == nil && !c.detected {
		err = c.send("not-detected", &data{})
	}
	return err
}

// report sends the events that are words to detect. The error is the model's.
func (c *session) report(found []events.Event, err error) error {
	for _, e := range found {
		if len(c.names) > 0 && !slices.Contains(c.names, e.Label) {
			continue
		}
		at := e.End * 1000 / int64(c.format.Rate)
		if c.format.Timestamp != nil {
			at += *c.format.Timestamp
		}
		c.detected = true
		if failed := c.send("detection", &data{Name: e.Label, Timestamp: &at}); failed != nil {
			return failed
		}
	}
	return err
}
