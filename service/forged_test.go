package service

import (
	"math"
	"os"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

// A snapshot with a right checksum and a wrong identity is rejected. It affects neither later
// requests of the client nor another stream that is connected.
func TestForgedSnapshots(t *testing.T) {
	end := &report.End{Type: "end"}
	for name, forge := range map[string]func(*identity){
		"rate":                       func(id *identity) { id.SampleRate = 1e18 },
		"rate of an ended stream":    func(id *identity) { id.SampleRate, id.End = 1e18, end },
		"rate of gigabytes":          func(id *identity) { id.SampleRate, id.End = 1e11, end },
		"name":                       func(id *identity) { id.ID = "other" },
		"name of an ended stream":    func(id *identity) { id.ID, id.End = "other", end },
		"client":                     func(id *identity) { id.Client = "nobody" },
		"client of an ended stream":  func(id *identity) { id.Client, id.End = "nobody", end },
		"NaN in an event":            func(id *identity) { id.EventCount, id.Recent = 1, []report.Event{{Confidence: math.NaN()}} },
		"infinity in the end":        func(id *identity) { id.End = &report.End{RealTimeFactor: math.Inf(1)} },
		"name and client of another": func(id *identity) { id.ID, id.Client = "other", "b" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				keep := func(c *Options) { c.Snapshots, c.TokenHeader = dir, "Token" }
				in := startService(t, toneModel(t, 0), keep)
				in.interrupt("mine", "Token", "a")
				other := in.dial("/v1/streams/other", "Token", "b")
				file := in.server.streams.store.list["mine"].file
				v := must.Get(in.server.streams.store.read(file))(t)
				forge(&v.Identity)
				must.Do(t, os.WriteFile(file, must.Get(encodeSnapshot(*v))(t), 0o600))
				for _, query := range []string{"?events=0", "?format=s16le", "?format=s16le&events=0"} {
					status, body := in.post("/v1/streams/mine"+query, nil, "Token", "a")
					checkError(t, query, status, body, 409, "snapshot", "mine", "DELETE")
				}
				status, body := in.request("GET", "/v1/streams/mine?events=0", nil, "Token", "a", "Connection", "Upgrade",
					"Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
				checkError(t, "WebSocket", status, body, 409, "snapshot", "mine", "DELETE")
				must.Equal(t, in.server.Stats().Streams, 1, "connected streams")
				status, body = in.request("DELETE", "/v1/streams/other", nil, "Token", "b")
				checkError(t, "DELETE of the connected stream", status, body, 409, "busy", "other")
				other.sendText(`{"type":"end"}`)
				if got, _ := other.rest(); got.end == nil {
					t.Errorf("the other stream has no end line, but %+v", got.err)
				}
				if status, body := in.request("DELETE", "/v1/streams/mine", nil, "Token", "a"); status != 204 {
					t.Errorf("DELETE: status %d, %s", status, body)
				}
				must.Equal(t, in.position("mine", "Token", "a"), 0, "a new stream starts at sample")
			})
		})
	}
}
