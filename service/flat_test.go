package service

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// Connections of all kinds leave no goroutine, connection or stream: uploads and WebSockets that
// end, that are interrupted, and that are rejected.
func TestConnectionsLeaveNothing(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples[:800])
	chunked := "POST /v1/streams?format=s16le HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(pcm), pcm)
	socket := fmt.Sprintf(upgradeRequest, "/v1/streams") + string(frame(opBinary, pcm))
	kinds := []string{
		chunked + "0\r\n\r\n", chunked, socket + string(frame(opText, []byte(`{"type":"end"}`))), socket, socket[:40], "",
		fmt.Sprintf(upgradeRequest, "/v1/streams/ended?events=0"), fmt.Sprintf(upgradeRequest, "/v1/streams/interrupted?events=0") + string(frame(opBinary, pcm)),
		"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", "PUT /v1/streams HTTP/1.1\r\nHost: evil\r\nContent-Length: 5\r\n\r\nab",
	}
	n, held := must.Cases(2000, 100_000), 0
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = t.TempDir() })
		in.post("/v1/streams/ended?format=s16le", bytes.NewReader(pcm))
		connect := func(kind string) {
			conn := must.Get(in.listener.Dial(t.Context()))(t)
			go io.Copy(io.Discard, conn)
			io.WriteString(conn, kind)
			synctest.Wait()
			conn.Close()
			synctest.Wait()
		}
		for _, kind := range kinds { // what starts once
			connect(kind)
		}
		before := runtime.NumGoroutine()
		for i := range n {
			connect(kinds[i%len(kinds)])
			// A goroutine may be ending; one per connection would add up.
			if must.Goroutines(before+len(kinds)) <= before+len(kinds) && in.server.Stats().Streams == 0 {
				held++
			}
		}
	})
	must.Tally(t, "a connection leaves no goroutine and no stream", n, held)
}
