package service

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// FuzzConnection sends arbitrary bytes as a connection of HTTP or of a WebSocket. The service
// responds with HTTP, whose lines are JSON, and never with status 500. The memory is bounded by
// what was sent. Afterwards no stream and no goroutine is left (synctest), and the service serves
// another client.
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
		fmt.Sprintf(upgradeRequest, "/v1/streams/a?rate=8000") + string(frame(opBinary, pcm[:160])) + string(frame(opText, []byte(`{"type":"end"}`))),
		fmt.Sprintf(upgradeRequest, "/v1/streams/a") + string(frame(opBinary&0x7f, pcm)) + string(frame(opPing, pcm[:9])) + string(frame(0x80, pcm)),
		fmt.Sprintf(upgradeRequest, "/v1/streams/a") + string(frame(opBinary, make([]byte, 1<<17))),
		request("POST /v1/streams", "Content-Length: 5", "Transfer-Encoding: chunked") + chunked,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	m := toneModel(f, 0)
	f.Fuzz(func(t *testing.T, sent []byte) {
		synctest.Test(t, func(t *testing.T) {
			in := startService(t, m, inFolder(t, t.TempDir()))
			in.serves(pcm) // starts what every connection uses
			var received []byte
			must.Allocates(t, 64*len(sent)+1<<20, func() {
				conn := must.Get(in.listener.Dial(t.Context()))(t)
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
			time.Sleep(restTime)
			in.serves(pcm)
			checkResponse(t, received)
		})
	})
}

// serves checks that a service has no streams left and serves a client.
func (in *instance) serves(pcm []byte) {
	in.t.Helper()
	synctest.Wait()
	must.Equal(in.t, in.server.Stats().Streams, 0, "streams that are left")
	status, body := in.post("/v1/streams?format=s16le", bytes.NewReader(pcm))
	if end := fmt.Sprintf(`"samples":%d`, len(pcm)/2); status != 200 || !strings.Contains(body, end) {
		in.t.Errorf("another client: status %d, %q, expected %s", status, body, end)
	}
}

// checkResponse checks what a service has sent, of which the end may be missing.
func checkResponse(t *testing.T, received []byte) {
	t.Helper()
	if len(received) == 0 {
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(received)), nil)
	if err != nil || response.StatusCode == http.StatusInternalServerError {
		t.Fatalf("%q: %v", received, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Header.Get("Content-Type") != "application/x-ndjson" {
		return
	}
	for line := range bytes.Lines(body) {
		var v struct{ Type string }
		if err := json.Unmarshal(line, &v); err != nil || v.Type == "" {
			t.Errorf("line %q, %v", line, err)
		}
	}
}
