package service

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// The number of streams is limited. A stream that ends frees a place for another.
func TestMaxStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxStreams = 2 })
		first := in.dial("/v1/streams")
		in.dial("/v1/streams").line()
		status, body := in.post("/v1/streams?format=s16le", nil)
		checkError(t, "the third", status, body, 503, "streams", "2 streams")
		must.Equal(t, in.count("rejected streams"), 1, "rejected for the number of streams")
		first.conn.CloseNow()
		synctest.Wait()
		if status, body := in.post("/v1/streams?format=s16le", nil); status != 200 {
			t.Errorf("after the end of the first: status %d, %s", status, body)
		}
	})
}

// A stream has one connection at a time.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
		in.dial("/v1/streams/mine").line()
		status, body := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "second connection", status, body, 409, "busy", "mine")
		status, body = in.request("DELETE", "/v1/streams/mine", nil)
		checkError(t, "DELETE", status, body, 409, "busy", "mine")
	})
}

// A message longer than the limit ends the session. A message of that length does not.
func TestMaxMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxMessage = 5000 })
		c := in.dial("/v1/streams")
		c.sendAudio(make([]byte, 5000), 5000)
		c.sendAudio(make([]byte, 5002), 5002)
		for range c.received {
		}
		must.Equal(t, c.status, websocket.StatusMessageTooBig, "closed with")
	})
}

// A client that sends nothing is disconnected. A slow one is not.
func TestIdleClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Idle = 4 * time.Second })
		c := in.dial("/v1/streams")
		for range 4 {
			c.sendAudio(make([]byte, 160), 160)
			time.Sleep(3 * time.Second)
		}
		began := time.Now()
		got, status := c.rest()
		must.Equal(t, time.Since(began), time.Second, "disconnected after the last 3 s of silence and")
		checkLine(t, "messages", got.err, "idle")
		must.Equal(t, status, websocket.StatusPolicyViolation, "closed with")
		must.Equal(t, in.count("samples"), 4*80, "samples before")
		body, result := in.upload("/v1/streams?format=s16le")
		defer body.Close()
		body.Write(make([]byte, 1600))
		checkLine(t, "upload", parse(t, result()).err, "idle")
	})
}

// A client that sends audio without reading its events is disconnected.
func TestSlowReader(t *testing.T) {
	words := encode(tonemodel.Words().Samples)
	for name, request := range map[string]string{
		"http":      "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
		"websocket": fmt.Sprintf(upgradeRequest, "/v1/streams?format=s16le"),
	} {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, toneModel(t, 0))
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			defer conn.Close()
			began, disconnected := time.Now(), make(chan bool)
			go func() {
				defer close(disconnected)
				_, err := io.WriteString(conn, request)
				for i := 0; err == nil; i = (i + 1600) % (len(words) - 1600) {
					time.Sleep(10 * time.Millisecond) // ten times as fast as a microphone
					message := frame(opBinary, words[i:i+1600])
					if name == "http" {
						message = fmt.Appendf(nil, "%x\r\n%s\r\n", 1600, words[i:i+1600])
					}
					_, err = conn.Write(message)
				}
			}()
			// Read up to the first event and no further.
			for text := make([]byte, 0, 1<<12); !bytes.Contains(text, []byte(`"event"`)); {
				n := must.Get(conn.Read(text[len(text):cap(text)]))(t)
				text = text[:len(text)+n]
			}
			<-disconnected
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: disconnected after %v", name, took)
			}
			in.serves(words)
			must.Equal(t, in.count("rejected slow"), 1, "slow clients are counted")
		})
	}
}

// An error response arrives at once, and the connection is closed soon, while the client continues
// to send.
func TestRejectedBodies(t *testing.T) {
	for request, want := range map[string]string{
		"POST /v1/streams?foo=1":        `400 Bad Request`,
		"PUT /v1/streams":               `400 Bad Request`, // no WAV
		"POST /v1/streams?format=f32le": `200 OK`,          // then an error line
		"GET /v1/streams":               `426 Upgrade Required`,
		"DELETE /v1/streams/nobody":     `404 Not Found`,
		"GET /healthz":                  `200 OK`,
	} {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, toneModel(t, 0))
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			began, sent := time.Now(), make(chan bool)
			go func() {
				defer close(sent)
				_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", request)
				for err == nil {
					_, err = fmt.Fprintf(conn, "140\r\n%s\r\n", bytes.Repeat([]byte("\x00\x00\xc0\x7f"), 80)) // NaN
					time.Sleep(20 * time.Millisecond)
				}
			}()
			r := bufio.NewReader(conn)
			response := must.Get(http.ReadResponse(r, nil))(t)
			must.Get(io.ReadAll(response.Body))(t)
			must.Equal(t, response.Status, want, "%s: status", request)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: the response took %v", request, took)
			}
			must.Reject(r.ReadByte())(t)
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("%s: connected for %v", request, took)
			}
			conn.Close()
			<-sent
		})
	}
}

// An invalid option is named.
func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"service: MaxStreams 0:":  func(c *Options) { c.MaxStreams = 0 },
		"service: Idle -1:":       func(c *Options) { c.Idle = -1 },
		"service: MaxMessage -5:": func(c *Options) { c.MaxMessage = -5 },
		"service: SaveEvery 0:":   func(c *Options) { c.SaveEvery = 0 },
		"service: Keep 2m30s:":    func(c *Options) { c.Keep = c.SaveEvery + c.Idle },
	} {
		opt := Defaults()
		change(&opt)
		must.Reject(New(toneModel(t, 0), events.Defaults(), opt))(t, want)
	}
	must.Reject(New(toneModel(t, 0), events.Defaults().WithThreshold(2), Defaults()))(t, "threshold")
}

// Frames without audio end a stream as silence does, also if the client never stops sending them.
func TestFramesWithoutAudio(t *testing.T) {
	zeros := make([]byte, 1600)
	for name, c := range map[string]struct{ first, forall []byte }{ // sent once, and again and again
		"fragments":       {first: frame(opBinary&0x7f, zeros[:160]), forall: frame(0, zeros)},
		"empty fragments": {first: frame(opBinary&0x7f, nil), forall: frame(0, nil)},
		"empty messages":  {forall: frame(opBinary, nil)},
		"pings":           {forall: frame(opPing, zeros[:125])},
		"half a frame":    {first: frame(opBinary, zeros)[:1000]},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, toneModel(t, 0), inFolder(t, t.TempDir()))
			conn := in.handshake("/v1/streams/mine")
			go io.Copy(io.Discard, conn)
			synctest.Wait()
			began := time.Now()
			_, err := conn.Write(c.first)
			for err == nil && (len(c.forall) > 0 || in.server.Stats().Streams > 0) {
				time.Sleep(10 * time.Millisecond)
				_, err = conn.Write(c.forall)
			}
			if took := time.Since(began); took > 3*time.Minute {
				t.Errorf("%s: connected for %v", name, took)
			}
			conn.Close()
			in.serves(encode(tonemodel.Words().Samples))
		})
	}
}

// A WebSocket client that does not reply to the close frame delays a shutdown by 5 s at most.
func TestSilentWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0))
		conn := in.handshake("/v1/streams")
		go io.Copy(io.Discard, conn)
		synctest.Wait()
		must.Equal(t, in.server.Stats().Streams, 1, "connected streams")
		began := time.Now()
		must.Do(t, in.stop())
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}
