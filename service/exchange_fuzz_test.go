package service

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// exchange sends bytes on a connection, closes it when the service reads no further, and returns
// what the service sent. The service allocates no more than most bytes. Then it has no stream left,
// and serves another client. A goroutine that is left when the service has stopped ends the test
// (synctest).
func exchange(t *testing.T, m *model.Model, connect func(*instance) net.Conn, sent []byte, most int) (received []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, m, func(c *Options) { c.Snapshots = t.TempDir() })
		pcm := make([]byte, 2*800)
		serves := func() {
			status, body := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm))
			if end := fmt.Sprintf(`"samples":%d`, len(pcm)/2); status != 200 || !strings.Contains(body, end) {
				t.Errorf("another client: status %d, %q, expected %s", status, body, end)
			}
			synctest.Wait()
			must.Equal(t, in.server.Stats().Streams, 0, "streams that are left")
		}
		serves() // starts what every connection uses
		must.Allocates(t, most, func() {
			conn := connect(in)
			reading := make(chan struct{})
			go func() {
				defer close(reading)
				received, _ = io.ReadAll(conn)
			}()
			go conn.Write(sent)
			synctest.Wait()
			conn.Close()
			<-reading
			synctest.Wait()
		}, "%d bytes", len(sent))
		time.Sleep(lingerTime)
		serves()
		must.Do(t, in.stop())
	})
	return received
}

// Headers, messages and chunks that are much longer than the limits are not stored.
func TestReaderBounds(t *testing.T) {
	m, zeros := toneModel(t, 0), make([]byte, 8<<20)
	long := strings.Repeat("a", len(zeros))
	const post = "POST /v1/streams HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
	for name, sent := range map[string]string{
		"a request line":             "GET /" + long,
		"a header":                   "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: " + long,
		"the size of a chunk":        post + "\r\n" + long,
		"the extension of a chunk":   post + "\r\n1;" + long,
		"a trailer":                  post + "Trailer: A\r\n\r\n0\r\nA: " + long,
		"a chunk of a WAV file":      post + "\r\n900000\r\nRIFF\xff\xff\xff\x7fWAVELIST\xff\xff\xff\x7f" + long,
		"a message":                  fmt.Sprintf(upgradeRequest, "/v1/streams") + string(frame(opBinary, zeros)),
		"a text message":             fmt.Sprintf(upgradeRequest, "/v1/streams") + string(frame(opText, []byte(long))),
		"a message of 2¹⁷ fragments": fmt.Sprintf(upgradeRequest, "/v1/streams") + string(frame(opBinary&0x7f, nil)) + strings.Repeat("\x00\x80\x00\x00\x00\x00", 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			exchange(t, m, func(in *instance) net.Conn { return must.Get(in.listener.Dial(in.t.Context()))(in.t) }, []byte(sent), 1<<20)
		})
	}
}

// FuzzConnection sends arbitrary bytes as an HTTP connection. The service sends responses of HTTP,
// whose lines are JSON, and none that says that it has failed.
func FuzzConnection(f *testing.F) {
	pcm := encode(tonemodel.Words().Samples[:400])
	request := func(line string, header ...string) string {
		return line + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(pcm), pcm)
	for _, seed := range []string{
		request("GET /healthz") + request("GET /healthz", "Connection: close"),
		request("POST /v1/streams/a?format=s16le&events=0", "Origin: http://localhost", "Transfer-Encoding: chunked") + chunked,
		request("POST /v1/streams?format=u8&rate=16000&resample=true", "Content-Length: 100") + string(pcm[:100]),
		request("PUT /v1/streams/a", "Content-Length: 144") + string(wavFile(1, pcm[:100])),
		request("PUT /v1/streams/a", "Expect: 100-continue", "Content-Length: 44") + string(wavFile(1, nil)),
		request("DELETE /v1/streams/a") + request("DELETE /v1/streams/..%2fa"),
		request("POST /v1/streams?format=f32be&rate=1e9&events=-1", "Content-Length: 0"),
		fmt.Sprintf(upgradeRequest, "/v1/streams/a?rate=8000&resample=1") + string(frame(opBinary, pcm[:160])) + string(frame(opText, []byte(`{"type":"end"}`))),
		request("GET /v1/streams", "Upgrade: websocket", "Connection: Upgrade"),
		request("POST /v1/streams", "Content-Length: 5", "Transfer-Encoding: chunked") + chunked,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	m := toneModel(f, 0)
	f.Fuzz(func(t *testing.T, sent []byte) {
		received := exchange(t, m, func(in *instance) net.Conn { return must.Get(in.listener.Dial(in.t.Context()))(in.t) }, sent, 64*len(sent)+1<<20)
		if len(received) == 0 {
			return
		}
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(received)), nil)
		if err != nil {
			t.Fatalf("%q: %v", received, err)
		}
		if response.StatusCode == http.StatusInternalServerError {
			t.Errorf("%q", received)
		}
		body, err := io.ReadAll(response.Body)
		if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "application/x-ndjson") {
			for line := range bytes.Lines(body) {
				checkJSON(t, line)
			}
		}
	})
}

// checkJSON checks that a line is an object with a type.
func checkJSON(t *testing.T, line []byte) (kind string) {
	t.Helper()
	var v struct{ Type string }
	if err := json.Unmarshal(line, &v); err != nil || v.Type == "" {
		t.Errorf("line %q, %v", line, err)
	}
	return v.Type
}

// FuzzFrames sends arbitrary frames, or arbitrary bytes as frames, to a WebSocket. The service
// sends text messages and at most one close frame, the last. The first line is the start, and an
// end line counts the samples of the client's messages.
func FuzzFrames(f *testing.F) {
	pcm := encode(tonemodel.Words().Samples[:100])
	end := []byte(`{"type":"end"}`)
	frames := func(all ...[]byte) (b []byte) { // pairs of a first byte and a payload
		for i := 0; i < len(all); i += 2 {
			b = append(append(b, all[i][0], byte(len(all[i+1]))), all[i+1]...)
		}
		return b
	}
	f.Add(frames([]byte{opBinary}, pcm, []byte{opPing}, pcm[:9], []byte{opText}, end), false)
	f.Add(frames([]byte{opBinary & 0x7f}, pcm, []byte{0}, nil, []byte{opContinuation}, pcm, []byte{opText & 0x7f}, end[:5], []byte{opContinuation}, end[5:]), false)
	f.Add(frames([]byte{opBinary}, pcm[:3], []byte{opBinary}, pcm), false)
	f.Add(frames([]byte{opBinary | 0x40}, pcm, []byte{opText}, end), false)
	f.Add(frames([]byte{0x88}, []byte{0x03, 0xe8}), false)
	f.Add(frames([]byte{0x8a}, pcm[:2], []byte{opText}, []byte(`{"type":"end"} `), []byte{opBinary}, pcm), false)
	f.Add([]byte{opBinary, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0}, true)
	f.Add([]byte{opBinary, 0x82, 1, 2, 3, 4, 5, 6, opText, 4, 1, 2, 3, 4}, true)
	m := toneModel(f, 0)
	f.Fuzz(func(t *testing.T, data []byte, raw bool) {
		sent, audio := data, 0 // bytes of binary messages
		if !raw {
			sent, audio = framesOf(data)
		}
		received := exchange(t, m, func(in *instance) net.Conn { return in.handshake("/v1/streams/a") }, sent, 64*len(sent)+1<<20)
		header, received, ok := bytes.Cut(received, []byte("\r\n\r\n"))
		if !ok || !bytes.HasPrefix(header, []byte("HTTP/1.1 101 ")) {
			t.Fatalf("%q", header)
		}
		for first, closed := true, false; len(received) > 0; first = false {
			op, payload, rest := serverFrame(t, received)
			received = rest
			switch {
			case closed:
				t.Errorf("opcode %#x after the close frame", op)
			case op == 0x8a, op == 0x89: // the reply to a ping, and a ping before the close frame
			case op == 0x88:
				closed = true
			case op != opText:
				t.Errorf("opcode %#x of %q", op, payload)
			default:
				kind := checkJSON(t, payload)
				if first && kind != "start" {
					t.Errorf("the first line is %q", payload)
				}
				var v struct{ Samples int }
				must.Do(t, json.Unmarshal(payload, &v))
				if kind == "end" && !raw && v.Samples != audio/2 {
					t.Errorf("%q after %d bytes of audio", payload, audio)
				}
			}
		}
	})
}

// framesOf returns frames of pieces of data: a first byte, a length and a payload each. audio is
// the number of bytes of binary messages until the first text message.
func framesOf(data []byte) (frames []byte, audio int) {
	binaryMessage, ended := false, false
	for len(data) > 1 {
		first, n := data[0], min(int(data[1]), len(data)-2)
		payload := data[2 : 2+n]
		frames, data = append(frames, frame(first, payload)...), data[2+n:]
		switch first & 0x0f {
		case 1:
			ended = true
		case 2:
			binaryMessage = true
		}
		if first&0x0f <= 2 && binaryMessage && !ended {
			audio += n
		}
	}
	return frames, audio
}

// serverFrame splits the first frame off what a service has sent.
func serverFrame(t *testing.T, b []byte) (op byte, payload, rest []byte) {
	t.Helper()
	if len(b) < 2 {
		t.Fatalf("%d bytes of a frame", len(b))
	}
	op, size := b[0], int(b[1])
	b = b[2:]
	switch {
	case size == 126 && len(b) >= 2:
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	case size > 125:
		t.Fatalf("a frame of size %d", size)
	}
	if size > len(b) {
		t.Fatalf("%d of %d bytes of a frame", len(b), size)
	}
	return op, b[:size], b[size:]
}
