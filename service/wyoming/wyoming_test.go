package wyoming

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

var record = flag.Bool("record", false, "record testdata/exchange.txt")

// start serves the tones, and returns a function that connects to the server.
func start(t *testing.T, clients int) func() net.Conn {
	m := must.Get(tonemodel.New())(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := Server{Model: m, Name: "tones", Detect: events.DefaultsFor(m), MaxClients: clients, Idle: time.Minute, Log: slog.New(slog.DiscardHandler)}
	ended := make(chan error)
	go func() { ended <- s.Serve(t.Context(), l) }()
	t.Cleanup(func() { must.Do(t, <-ended) })
	return func() net.Conn {
		conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
		must.Do(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		return conn
	}
}

// client speaks the protocol as its public description does, with the data in the header or after
// it, and writes down what both sides send.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	log  strings.Builder
}

func (c *client) send(kind, data string, after bool, payload []byte) {
	c.t.Helper()
	header := map[string]any{"type": kind, "version": "1.5.2"}
	switch {
	case data != "" && after:
		header["data_length"] = len(data)
	case data != "":
		header["data"], data = json.RawMessage(data), ""
	}
	if payload != nil {
		header["payload_length"] = len(payload)
	}
	line := must.Get(json.Marshal(header))(c.t)
	fmt.Fprintf(&c.log, "> %s\n", line)
	if data != "" {
		fmt.Fprintf(&c.log, ">   %s\n", data)
	}
	must.Get(fmt.Fprintf(c.conn, "%s\n%s%s", line, data, payload))(c.t)
}

// receive returns the type and the data of a message.
func (c *client) receive() (kind, text string) {
	c.t.Helper()
	line := must.Get(c.in.ReadString('\n'))(c.t)
	var header struct {
		Type          string
		DataLength    int `json:"data_length"`
		PayloadLength int `json:"payload_length"`
	}
	must.Do(c.t, json.Unmarshal([]byte(line), &header))
	data := make([]byte, header.DataLength)
	must.Get(io.ReadFull(c.in, data))(c.t)
	fmt.Fprintf(&c.log, "< %s<   %s\n", line, data)
	return header.Type, string(data)
}

// chunks sends the samples in chunks of 64 ms, as satellites do.
func (c *client) chunks(samples []float32, format string) {
	for len(samples) > 0 {
		n := min(512, len(samples))
		var pcm []byte
		for _, v := range samples[:n] {
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(v*32767)))
		}
		c.send("audio-chunk", format, true, pcm)
		samples = samples[n:]
	}
}

// An exchange is as the recorded one: the description of the service, a wake word, and audio
// without it.
func TestExchange(t *testing.T) {
	conn := start(t, 2)()
	defer conn.Close()
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	const format = `{"rate":8000,"width":2,"channels":1,"timestamp":0}`
	c.send("describe", "", false, nil)
	kind, text := c.receive()
	must.Equal(t, kind == "info" && strings.Contains(text, `"models":[{"name":"low",`) && strings.Contains(text, `"languages":[]`) && !strings.Contains(text, "none"), true, "%s %s", kind, text)
	for _, names := range []string{`{"names":["high"]}`, `{"names":["unknown"]}`} {
		sound := &tonemodel.Sound{}
		sound.Silence(0.5)
		sound.Tone("low", 0.4)
		sound.Silence(0.4)
		sound.Tone("high", 0.4)
		sound.Silence(0.5)
		c.send("detect", names, false, nil)
		c.send("audio-start", format, true, nil)
		c.chunks(sound.Samples, format)
		c.send("audio-stop", `{"timestamp":2200}`, true, nil)
		kind, text := c.receive()
		if strings.Contains(names, "high") {
			var found struct {
				Name      string
				Timestamp int64
			}
			must.Do(t, json.Unmarshal([]byte(text), &found))
			must.Equal(t, kind+" "+found.Name, "detection high", "response")
			must.Equal(t, found.Timestamp > 1500 && found.Timestamp < 2000, true, "timestamp %d", found.Timestamp)
		} else {
			must.Equal(t, kind, "not-detected", "response")
		}
	}
	c.send("ping", `{"text":"a"}`, true, nil)
	kind, text = c.receive()
	must.Equal(t, kind+text, `pong{"text":"a"}`, "response to ping")
	const path = "testdata/exchange.txt"
	if *record {
		must.Do(t, os.WriteFile(path, []byte(c.log.String()), 0o644))
	}
	must.Equal(t, c.log.String(), string(must.Get(os.ReadFile(path))(t)), "exchange")
}

// Channels are mixed, other messages are ignored, and invalid ones end the connection.
func TestMessages(t *testing.T) {
	connect := start(t, 1)
	conn := connect()
	c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
	sound := &tonemodel.Sound{}
	sound.Tone("low", 0.4)
	sound.Silence(0.4)
	stereo := make([]float32, 0, 2*len(sound.Samples))
	for _, v := range sound.Samples {
		stereo = append(stereo, 2*v, 0)
	}
	c.send("transcribe", `{"language":"en"}`, true, nil)
	c.chunks(stereo, `{"rate":8000,"width":2,"channels":2}`)
	kind, text := c.receive()
	must.Equal(t, kind == "detection" && strings.Contains(text, `"name":"low"`), true, "%s %s", kind, text)
	other := connect() // one client is the limit
	_, err := other.Read(make([]byte, 1))
	must.Equal(t, err != nil, true, "a second client is disconnected")
	conn.Close()
	connect = start(t, 99)
	for name, text := range map[string]string{
		"no JSON": "hello\n", "a long line": strings.Repeat(" ", maxLine+1), "a large payload": `{"type":"audio-chunk","payload_length":1048577}` + "\n",
		"24 bits": `{"type":"audio-start","data":{"rate":8000,"width":3,"channels":1}}` + "\n", "half a sample": `{"type":"audio-chunk","data":{"rate":8000,"width":2,"channels":1},"payload_length":1}` + "\nx",
		"negative": `{"type":"x","data_length":-1}` + "\n", "no format": `{"type":"audio-chunk"}` + "\n",
	} {
		conn := connect()
		must.Get(io.WriteString(conn, text))(t)
		_, err := conn.Read(make([]byte, 1))
		conn.Close()
		must.Equal(t, err != nil, true, "%s ends the connection", name)
	}
}

// A message has the bytes that its line states, or is an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"audio-chunk","data_length":14,"payload_length":2}` + "\n" + `{"rate":16000}ab`))
	f.Add([]byte(`{"type":"detect","data":{"names":["a"]}}` + "\n"))
	f.Add([]byte(`{"type":"x","data":null,"data_length":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := read(bufio.NewReaderSize(bytes.NewReader(b), maxLine))
		if err == nil && (m.Data == nil || len(m.payload) != m.PayloadLength || len(m.payload) > maxPayload) {
			t.Errorf("%+v", m)
		}
	})
}
