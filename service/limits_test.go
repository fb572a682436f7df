package service

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// The number of streams is limited, in total and per client. A stream that ends frees a place for
// another.
func TestMaxStreams(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) {
			c.MaxStreams, c.MaxPerClient, c.TokenHeader = 3, 2, "Token"
		})
		first := in.dial("/v1/streams", "Token", "a")
		for i, c := range []struct {
			token  string
			status int
		}{{"a", 101}, {"a", 429}, {"b", 101}, {"b", 503}, {"", 503}} {
			opt := &websocket.DialOptions{HTTPClient: in.client, HTTPHeader: header("Token", c.token)}
			conn, response, _ := websocket.Dial(t.Context(), "ws://localhost/v1/streams", opt)
			if response == nil || response.StatusCode != c.status {
				t.Errorf("stream %d, of client %q: %+v, expected status %d", i, c.token, response, c.status)
			}
			if conn != nil {
				defer conn.CloseNow()
			}
		}
		status, body := in.post("/v1/streams?format=s16le", nil, "Token", "a")
		checkError(t, "the client's third", status, body, 429, "client", "2 streams")
		status, body = in.post("/v1/streams?format=s16le", nil, "Token", "c")
		checkError(t, "the fourth", status, body, 503, "streams", "3 streams")
		must.Equal(t, in.count("rejected client"), 2, "rejected for their client")
		must.Equal(t, in.count("rejected streams"), 3, "rejected for the number of streams")
		first.conn.CloseNow()
		synctest.Wait()
		if status, body := in.post("/v1/streams?format=s16le", nil, "Token", "a"); status != 200 {
			t.Errorf("after the end of the first: status %d, %s", status, body)
		}
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// By default one client cannot take all streams.
func TestMaxPerClient(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		for range 32 {
			in.dial("/v1/streams").line()
		}
		status, body := in.post("/v1/streams?format=s16le", nil)
		checkError(t, "the 33rd", status, body, 429, "client", "32 streams")
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// A stream has one connection at a time.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		in.dial("/v1/streams/mine").line()
		status, body := in.post("/v1/streams/mine?format=s16le", nil)
		checkError(t, "second connection", status, body, 409, "busy", "mine")
		status, body = in.request("DELETE", "/v1/streams/mine", nil)
		checkError(t, "DELETE", status, body, 409, "busy", "mine")
	})
}

// A message longer than the limit ends the session. A message of that length does not.
func TestMaxMessage(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxMessage = 5000 })
		c := in.dial("/v1/streams")
		c.sendAudio(make([]byte, 5000), 5000)
		c.sendAudio(make([]byte, 5002), 5002)
		got, status := c.rest()
		checkLine(t, "5002 bytes", got.err, "message", "5000 bytes")
		must.Equal(t, status, websocket.StatusMessageTooBig, "closed with")
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// A client that sends nothing is disconnected. A slow one is not.
func TestIdleClients(t *testing.T) {
	var cases counter
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
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// A client that sends audio without reading its events is disconnected, and the service reads only
// a small part of what it sends.
func TestSlowReader(t *testing.T) {
	var cases counter
	words := encode(tonemodel.Words().Samples)
	for name, c := range map[string]struct {
		request string
		message func(pcm []byte) string
	}{
		"http": {
			"POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
			func(pcm []byte) string { return fmt.Sprintf("%x\r\n%s\r\n", len(pcm), pcm) },
		},
		"websocket": {
			fmt.Sprintf(upgradeRequest, "/v1/streams"),
			func(pcm []byte) string { return string(frame(opBinary, pcm)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := startService(t, toneModel(t, 0), nil)
				conn := must.Get(in.listener.Dial(t.Context()))(t)
				defer conn.Close()
				var sent readBytes
				failed := make(chan error, 1)
				go func() {
					io.WriteString(conn, c.request)
					for {
						for i := 0; i+1600 <= len(words); i += 1600 {
							time.Sleep(10 * time.Millisecond) // ten times as fast as a microphone
							n, err := io.WriteString(conn, c.message(words[i:i+1600]))
							sent.add(n)
							if err != nil {
								failed <- err
								return
							}
						}
					}
				}()
				// Read up to the first event and no further.
				for text := make([]byte, 0, 1<<12); !bytes.Contains(text, []byte(`"event"`)); {
					n := must.Get(conn.Read(text[len(text):cap(text)]))(t)
					text = text[:len(text)+n]
				}
				began := time.Now()
				<-failed
				if took := time.Since(began); took > time.Minute {
					t.Errorf("disconnected after %v, expected %v", took, in.server.opt.Slow)
				}
				if n := sent.beforeEnd(); n > 64_000 {
					t.Errorf("the service has read %d bytes", n)
				}
				synctest.Wait()
				if n := in.server.streams.count(); n != 0 {
					t.Errorf("%d streams are left", n)
				}
				must.Equal(t, in.count("rejected slow"), 1, "slow clients are counted")
				cases.add(t)
			})
		})
	}
	must.Tally(t, "the service processes at most 64 kB from a client that stops reading, then discards its data for at most 10 s, and disconnects it within a minute in all", cases.tried, cases.held)
}

// An invalid option is named.
func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"service: MaxStreams 0:":  func(c *Options) { c.MaxStreams = 0 },
		"service: Idle -1ns:":     func(c *Options) { c.Idle = -1 },
		"service: MaxMessage -5:": func(c *Options) { c.MaxMessage = -5 },
		"service: MaxRate NaN:":   func(c *Options) { c.MaxRate = math.NaN() },

		"service: SaveEvery -1ns:":          func(c *Options) { c.SaveEvery = -1 },
		"service: MaxBytes -1:":             func(c *Options) { c.MaxBytes = -1 },
		"service: MaxBytesPerClient -1:":    func(c *Options) { c.MaxBytesPerClient = -1 },
		"service: ConnectionsPerClient -1:": func(c *Options) { c.ConnectionsPerClient = -1 },
	} {
		opt := Defaults()
		change(&opt)
		_, err := New(toneModel(t, 0), events.Defaults(), opt)
		must.Fail(t, err, want)
		if _, is := errors.AsType[*OptionError](err); !is {
			t.Errorf("%s: the error has type %T", want, err)
		}
	}
	_, err := New(toneModel(t, 0), events.Defaults().WithThreshold(2), Defaults())
	must.Fail(t, err, "threshold")
	if _, is := errors.AsType[*OptionError](err); !is {
		t.Errorf("threshold: the error has type %T", err)
	}
}

// With another rate than the model's the model's steps are scaled, and the start line has both
// rates.
func TestRate(t *testing.T) {
	opt := events.Defaults()
	opt.SampleRate = 2 * tonemodel.SampleRate
	s := must.Get(New(toneModel(t, 0), opt, Defaults()))(t)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/streams?format=s16le", nil))
	start := parse(t, w.Body.String()).start
	must.Equal(t, start.SampleRate, 2*tonemodel.SampleRate, "rate")
	must.Equal(t, start.ModelSampleRate, tonemodel.SampleRate, "model's rate")
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/streams?format=s16le&rate=8000", nil))
	checkError(t, "the model's rate", w.Code, w.Body.String(), 400, "audio", "16000 Hz")
}

// An error response arrives at once and the connection is closed soon, whether the client sends
// nothing more or never stops sending. The same holds for a body where none is expected.
func TestRejectedBodies(t *testing.T) {
	var cases, endlessCases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		in.dial("/v1/streams/mine").line()
		var all sync.WaitGroup
		for _, c := range []struct {
			name, request string
			body          string
			status        int
			word          string
		}{
			{"parameter", "POST /v1/streams?foo=1", "", 400, `"request"`},
			{"no WAV", "PUT /v1/streams", strings.Repeat("no WAV", 8), 400, `"audio"`},
			{"NaN", "POST /v1/streams?format=f32le", strings.Repeat("\x00\x00\xc0\x7f", 80), 200, `"audio"`}, // a frame
			{"busy", "POST /v1/streams/mine?format=s16le", "", 409, `"busy"`},
			{"GET", "GET /v1/streams", "", 426, `"request"`},
			{"DELETE", "DELETE /v1/streams/nobody", "", 404, `"unknown"`},
			{"path", "POST /", "", 404, `"request"`},
			{"health", "GET /healthz", "", 200, ""},
		} {
			for _, endless := range []bool{false, true} {
				name := fmt.Sprintf("%s, endless %v", c.name, endless)
				all.Go(func() {
					defer cases.add(t)
					if endless {
						defer endlessCases.add(t)
					}
					conn, err := in.listener.Dial(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					all.Go(func() {
						if endless {
							fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", c.request)
							sendForever(conn, c.body)
						} else {
							fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n%s", c.request, c.body)
						}
					})
					began := time.Now()
					r := bufio.NewReader(conn)
					response, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Errorf("%s: no response: %v", name, err)
						return
					}
					b, err := io.ReadAll(response.Body)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					must.Equal(t, response.StatusCode, c.status, "%s: status", name)
					if !strings.Contains(string(b), c.word) {
						t.Errorf("%s: %s does not contain %s", name, b, c.word)
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("%s: the response took %v", name, took)
					}
					if _, err := r.ReadByte(); err == nil {
						t.Errorf("%s: more follows the response", name)
					}
					if took := time.Since(began); took > 20*time.Second {
						t.Errorf("%s: connected for %v", name, took)
					}
				})
			}
		}
		all.Wait()
	})
	must.Tally(t, "a response that does not depend on the rest of the body arrives within 1 s", cases.tried, cases.held)
	must.Tally(t, "after its response, a client that never stops sending is disconnected within 20 s", endlessCases.tried, endlessCases.held)
}

// sendForever sends a chunked body, and silence after it at the pace of a microphone, until the
// connection is closed.
func sendForever(conn net.Conn, body string) {
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		if body == "" {
			body = strings.Repeat("\x00", 320)
		}
		if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(body), body); err != nil {
			return
		}
		body = ""
	}
}
