package service

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// checkServes checks that a service has no streams left and serves a new one.
func checkServes(t *testing.T, in *instance, pcm []byte) {
	t.Helper()
	synctest.Wait()
	must.Equal(t, in.server.Stats().Streams, 0, "streams that are left")
	_, body := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm))
	checkComplete(t, "afterwards", parse(t, body), pcm)
}

// A frame that the protocol or the service does not allow ends the stream soon, also if the client
// never stops sending. Frames without audio end it as silence does.
func TestHostileFrames(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	zeros := make([]byte, 1<<16)
	var cases counter
	for name, c := range map[string]struct {
		first  []byte // sent once
		forall []byte // sent again and again
		within time.Duration
	}{
		"compressed":                    {first: frame(opBinary|0x40, zeros[:160])},
		"reserved bits":                 {first: frame(opBinary|0x30, zeros[:160])},
		"reserved opcode":               {first: frame(0x83, zeros[:160])},
		"not masked":                    {first: append([]byte{opBinary, 126, 0, 160}, zeros[:160]...)},
		"2^63 bytes":                    {first: []byte{opBinary, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0}, forall: zeros},
		"negative length":               {first: []byte{opBinary, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"endless fragments":             {first: frame(opBinary&0x7f, zeros[:160]), forall: frame(0, zeros[:1600])},
		"endless empty fragments":       {first: frame(opBinary&0x7f, nil), forall: frame(0, nil), within: 3 * time.Minute},
		"endless empty messages":        {forall: frame(opBinary, nil), within: 3 * time.Minute},
		"endless text":                  {first: frame(opText&0x7f, []byte(`{"type":"`)), forall: frame(0, bytes.Repeat([]byte("a"), 500))},
		"continuation without a start":  {first: frame(opContinuation, zeros[:160])},
		"a message within a message":    {first: append(frame(opBinary&0x7f, zeros[:160]), frame(opBinary, zeros[:160])...)},
		"long ping":                     {first: frame(opPing, zeros[:200])},
		"endless pings without reading": {forall: frame(opPing, zeros[:125]), within: 3 * time.Minute},
		"half a frame":                  {first: frame(opBinary, zeros)[:1000], within: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
				conn := in.handshake("/v1/streams/mine")
				if !strings.Contains(name, "without reading") {
					go io.Copy(io.Discard, conn)
				}
				synctest.Wait()
				began := time.Now()
				_, err := conn.Write(c.first)
				for err == nil && (len(c.forall) > 0 || in.server.Stats().Streams > 0) {
					time.Sleep(10 * time.Millisecond)
					_, err = conn.Write(c.forall)
				}
				if took := time.Since(began); took > max(c.within, 20*time.Second) {
					t.Errorf("connected for %v", took)
				}
				conn.Close()
				checkServes(t, in, pcm)
				cases.add(t)
			})
		})
	}
	must.Tally(t, "an invalid frame ends its stream, and the service continues", cases.tried, cases.held)
}

// Random bytes, and valid requests and frames with random changes, harm no other client: after each
// exchange, another one sends a short stream. A panic or a goroutine that is left ends the test.
func TestHostileExchanges(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples[:4000])
	upload := "POST /v1/streams/%d?format=s16le&events=0 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(pcm), pcm)
	file := "PUT /v1/streams/%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1044\r\n\r\n" + string(wavFile(1, pcm[:1000]))
	messages := fmt.Sprintf(upgradeRequest, "/v1/streams/%d") + string(frame(opBinary, pcm[:1600])) + string(frame(opPing, nil)) +
		string(frame(opBinary&0x7f, pcm[:80])) + string(frame(opContinuation, pcm[:80])) + string(frame(opText, []byte(`{"type":"end"}`)))
	n, held := must.Cases(600, 100_000), 0
	sockets, heldSockets := 0, 0 // exchanges in which the WebSocket was opened
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.Connections = t.TempDir(), 32 })
		r := rand.New(rand.NewPCG(1, 2))
		exchange := func(request []byte) (socket bool) {
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			var response bytes.Buffer
			go io.Copy(&response, conn)
			go conn.Write(request)
			synctest.Wait()
			conn.Close()
			synctest.Wait()
			return strings.HasPrefix(response.String(), "HTTP/1.1 101 ")
		}
		serves := func() bool { // another client
			_, body := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm[:160]))
			end := parse(t, body).end
			return end != nil && end.Samples == 80
		}
		exchange([]byte(fmt.Sprintf(upload, 0))) // what starts once
		must.Equal(t, serves(), true, "another client is served before the exchanges")
		before := runtime.NumGoroutine()
		for i := range n {
			bytes := []byte(strings.Replace([]string{upload, file, messages}[i%3], "%d", fmt.Sprint(r.IntN(4)), 1))
			for range 1 + r.IntN(3) {
				at := r.IntN(len(bytes))
				if r.IntN(2) == 0 { // most changes are in the header and the first frames
					at = r.IntN(min(len(bytes), 300))
				}
				switch r.IntN(4) {
				case 0:
					bytes[at] ^= 1 << r.IntN(8)
				case 1:
					bytes = append(bytes[:at:at], bytes[at+1+r.IntN(len(bytes)-at):]...)
				case 2:
					bytes = append(bytes[:at:at], append([]byte{byte(r.Uint32()), byte(r.Uint32())}, bytes[at:]...)...)
				case 3:
					bytes = bytes[:at]
				}
				if len(bytes) == 0 {
					break
				}
			}
			socket := exchange(bytes)
			if socket {
				sockets++
			}
			// A goroutine may be ending; one per exchange would add up.
			now, streams := must.Goroutines(before+4), in.server.Stats().Streams
			if served := serves(); streams == 0 && now <= before+4 && served {
				if held++; socket {
					heldSockets++
				}
			} else {
				t.Logf("exchange %d: %d goroutines, %d before, %d streams; another client is served: %v", i, now, before, streams, served)
			}
		}
		checkServes(t, in, encode(tonemodel.Words().Samples))
	})
	must.Tally(t, "after a hostile exchange no stream and no goroutine remain, and the service serves other clients", n, held)
	must.Tally(t, "after a hostile exchange over an open WebSocket no stream and no goroutine remain", sockets, heldSockets)
}

// readBytes records the bytes that the service has read from a client, by time.
type readBytes struct {
	bytes []int
	times []time.Time
}

func (r *readBytes) add(n int) { r.bytes, r.times = append(r.bytes, n), append(r.times, time.Now()) }

// beforeEnd returns how many bytes were read before the service began to discard them. The last
// time is that of the disconnection.
func (r *readBytes) beforeEnd() (sum int) {
	discarding := r.times[len(r.times)-1].Add(-lingerTime)
	for i, n := range r.bytes {
		if r.times[i].Before(discarding) {
			sum += n
		}
	}
	return sum
}

// Clients that send audio and never read do not delay others, and are disconnected. The service
// reads little of what they send.
func TestClientsThatNeverRead(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples)
	n, held := must.Cases(30, 1000), 0
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.MaxPerClient = n + 1 })
		var all sync.WaitGroup
		sent, took := make([]readBytes, n), make([]time.Duration, n)
		for i := range n {
			all.Go(func() {
				var conn net.Conn
				message := func(b []byte) []byte { return frame(opBinary, b) }
				if i%2 == 0 {
					conn = in.handshake("/v1/streams")
				} else {
					conn = must.Get(in.listener.Dial(t.Context()))(t)
					fmt.Fprint(conn, "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
					message = func(b []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b) }
				}
				began := time.Now()
				for at := 0; ; at = (at + 1600) % (len(pcm) - 1600) {
					k, err := conn.Write(message(pcm[at : at+1600]))
					if sent[i].add(k); err != nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				took[i] = time.Since(began)
			})
		}
		synctest.Wait()
		began := time.Now()
		c := in.dial("/v1/streams")
		c.sendAudio(pcm, 1600)
		c.sendText(`{"type":"end"}`)
		got, _ := c.rest()
		checkComplete(t, "another client", got, pcm)
		must.Equal(t, time.Since(began), 0, "the events of another client take")
		all.Wait()
		for i := range n {
			if read := sent[i].beforeEnd(); read <= 64_000 && took[i] <= 90*time.Second { // WriteTimeout for the first line, and what follows
				held++
			} else {
				t.Errorf("client %d: the service read %d bytes, and disconnected after %v", i, read, took[i])
			}
		}
		checkServes(t, in, pcm)
	})
	must.Tally(t, "the service processes at most 64 kB from a client that never reads, then discards its data for at most 10 s, and disconnects it within 90 s in all", n, held)
}

// The header of a request has a limit of bytes and of time, and so has the header of a WAV.
func TestHeaderLimits(t *testing.T) {
	chunk := "LIST\xff\xff\xff\x7f" + strings.Repeat("a", 1<<12)
	const wav = "POST /v1/streams HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	var cases counter
	for _, c := range []struct {
		name, first, then string
		pause             time.Duration
		status            string
		within            time.Duration
	}{
		{"slow header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "A: b\r\n", time.Second, "", headerTime + 2*time.Second},
		{"long header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "A: " + strings.Repeat("b", 1000) + "\r\n", 0, "431", time.Second},
		{"slow header of a WAV", wav, "1\r\nR\r\n", time.Second, "", 3 * time.Minute},
		{"long header of a WAV", wav + "c\r\nRIFF\xff\xff\xff\x7fWAVE\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk),
			"1000\r\n" + strings.Repeat("a", 1<<12) + "\r\n", 0, "400", 15 * time.Second},
		{"no request", "", "", time.Second, "", headerTime + 2*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := startService(t, toneModel(t, 0), nil)
				conn := must.Get(in.listener.Dial(t.Context()))(t)
				defer conn.Close()
				response := make(chan []byte, 1)
				began := time.Now()
				go func() {
					b, _ := io.ReadAll(conn)
					response <- b
				}()
				sent, err := io.WriteString(conn, c.first)
				for err == nil && sent < 4<<20 && len(response) == 0 {
					time.Sleep(c.pause)
					runtime.Gosched() // lets the other goroutine receive the response, also on one processor
					var n int
					n, err = io.WriteString(conn, c.then)
					sent += n
				}
				text := string(<-response)
				if took := time.Since(began); took > c.within || sent >= 4<<20 {
					t.Errorf("the connection took %v and %d bytes: %s", took, sent, text)
				}
				if c.status != "" && !strings.HasPrefix(text, "HTTP/1.1 "+c.status) {
					t.Errorf("the response is %q, expected status %s", text, c.status)
				}
				cases.add(t)
			})
		})
	}
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}

// An address has a number of connections. A few more get 429, and the others are closed at once,
// so that they use up no place of other clients.
func TestConnectionsPerClient(t *testing.T) {
	var cases counter
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.ConnectionsPerClient = 3 })
		served, rejected, closed := 0, 0, 0
		var open []net.Conn
		for range 3 + maxRejectedPerClient + 10 {
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			open = append(open, conn)
			if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				closed++
				continue
			}
			b := make([]byte, 12)
			io.ReadFull(conn, b)
			switch string(b[9:]) {
			case "200":
				served++
			case "429":
				rejected++
			default:
				t.Errorf("response %q", b)
			}
		}
		must.Equal(t, fmt.Sprint(served, rejected, closed), fmt.Sprint(3, maxRejectedPerClient, 10), "served, rejected and closed connections")
		for _, conn := range open {
			conn.Close()
		}
		synctest.Wait()
		response := must.Get(in.client.Get("http://localhost/healthz"))(t)
		response.Body.Close()
		must.Equal(t, response.StatusCode, http.StatusOK, "status afterwards")
		began := time.Now()
		must.Do(t, in.stop())
		if took := time.Since(began); took >= shutdownLinger {
			t.Errorf("the shutdown took %v: it waits for connections that were closed", took)
		}
		cases.add(t)
	})
	must.Tally(t, promiseLimits, cases.tried, cases.held)
}
