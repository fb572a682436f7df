package service

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
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

// wild changes random bytes after the first few.
func wild(r *rand.Rand, b []byte, first int) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(3) {
		at := first + r.IntN(max(1, len(b)-first-8))
		switch r.IntN(4) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			v := []float32{0, 1, -1e30, 1e-40, float32(math.NaN()), float32(math.Inf(-1))}[r.IntN(6)]
			binary.LittleEndian.PutUint32(b[at:], math.Float32bits(v))
		case 3:
			binary.LittleEndian.PutUint32(b[at:], uint32(r.IntN(5)-1)) // a length
		}
	}
	return b
}

// sign corrects the checksums of a snapshot of a Detector or a Resampler, and of those within it.
func sign(b []byte) {
	if inner := bytes.Index(b[1:], []byte("S4DSTATE")); inner >= 0 {
		sign(b[1+inner : len(b)-4])
	}
	body := b[:len(b)-4]
	binary.LittleEndian.PutUint32(b[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// A snapshot with random bytes and right checksums is rejected, or its stream has valid lines.
func TestWildSnapshots(t *testing.T) {
	pcm := encode(tonemodel.Words().Samples[:6000])
	n, held := must.Cases(1000, 10_000), 0
	if testing.Short() {
		n = 100
	}
	accepted, rejected := 0, 0
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots, c.Log = t.TempDir(), log.logger() })
		r := rand.New(rand.NewPCG(1, 2))
		kinds := []string{"", "&rate=16000&resample=true", ""} // the last one has ended
		var originals []*snapshot
		for i, query := range kinds {
			in.post("/v1/streams/mine?format=s16le"+query, bytes.NewReader(pcm[:10_399+1601*(i/2)]))
			originals = append(originals, must.Get(in.server.streams.store.read(in.server.streams.store.list["mine"].file))(t))
			in.request("DELETE", "/v1/streams/mine", nil)
		}
		for i := range n {
			v := *originals[i%3]
			part := &v.Detector
			if i%3 == 1 && r.IntN(3) == 0 {
				part = &v.Resampler
			}
			if len(*part) > 0 && r.IntN(4) > 0 {
				*part = wild(r, *part, 12)
				sign(*part)
			}
			b := must.Get(encodeSnapshot(v))(t)
			if len(*part) == 0 || r.IntN(4) == 0 {
				b = wild(r, b, headerSize)
				binary.LittleEndian.PutUint32(b[len(magic):], crc32.ChecksumIEEE(b[headerSize:]))
			}
			in.interrupt("mine")
			must.Do(t, os.WriteFile(in.server.streams.store.list["mine"].file, b, 0o600))
			status, body := in.post("/v1/streams/mine?format=s16le&events=0"+kinds[i%3], bytes.NewReader(pcm))
			ok := true
			switch status {
			case http.StatusOK:
				accepted++
				got := parse(t, body) // reports invalid lines
				ok = got.end != nil || got.err != nil && got.err.Code == "model"
			case http.StatusConflict, http.StatusGone:
				rejected++
			default:
				ok = false
			}
			deleted, _ := in.request("DELETE", "/v1/streams/mine", nil)
			synctest.Wait()
			if ok && deleted == http.StatusNoContent && in.server.Stats().Streams == 0 && in.server.Stats().Snapshots == 0 {
				held++
			} else {
				t.Errorf("snapshot %d: status %d, %s; DELETE: status %d; %+v", i, status, body, deleted, in.server.Stats())
			}
		}
		must.Equal(t, log.count("panic"), 0, "panics in the log")
		checkServes(t, in, encode(tonemodel.Words().Samples))
	})
	t.Logf("%d accepted, %d rejected", accepted, rejected)
	if accepted < n/20 || rejected < n/20 {
		t.Error("expected at least 5 % of each")
	}
	must.Tally(t, "a snapshot with random changes and correct checksums is rejected, or its stream continues with valid lines", n, held)
}
