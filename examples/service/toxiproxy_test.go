package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/service"
)

// lossyProxy returns the address of a proxy that adds a fault, in Toxiproxy's JSON.
func lossyProxy(t *testing.T, upstream, fault string) string {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, fault, "127.0.0.1:0", upstream)
	must.Do(t, p.Start())
	t.Cleanup(p.Stop)
	if fault != "" {
		must.Get(p.Toxics.AddToxicJson(strings.NewReader(fault)))(t)
	}
	return p.Listen
}

// networkClient sends a stream again and again over networks with faults.
type networkClient struct {
	name   string
	upload bool
	recording
	got             []report.Event
	broken, resumed int // attempts that failed after the start line; attempts that began after sample 0
}

// attempt sends the audio of a stream from where the service resumes it, and adds the events that
// it receives. It reports whether the end line arrived.
func (c *networkClient) attempt(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // of a network that delivers nothing
	defer cancel()
	s, _ := connect(ctx, c.upload, fmt.Sprintf("%s/v1/streams/%s?format=s16le&events=%d", address, c.name, len(c.got)))
	if s == nil {
		return false
	}
	defer s.close()
	started := false
	for lines := json.NewDecoder(s.lines); ; {
		var line struct {
			report.Event
			Samples *int64
		}
		if lines.Decode(&line) != nil {
			line.Type = "broken"
		}
		switch line.Type {
		case "start":
			if started = true; *line.Samples > 0 {
				c.resumed++
			}
			go func(rest []byte) {
				for ; len(rest) > 0; rest = rest[min(1600, len(rest)):] {
					if s.write(rest[:min(1600, len(rest))]) != nil {
						return
					}
				}
				s.end()
			}(c.pcm[2**line.Samples:])
		case "event":
			c.got = append(c.got, line.Event)
		case "end":
			io.Copy(io.Discard, s.lines) // confirms the end of a WebSocket
			return true
		default:
			if started {
				c.broken++
			}
			return false
		}
	}
}

// A stream over a network with latency, cuts, resets and slow ends has every event once.
func TestEveryEventOnce(t *testing.T) {
	m := must.Get(tonemodel.New())(t)
	opt := service.Defaults()
	opt.Snapshots, opt.Idle, opt.MaxPerClient = t.TempDir(), time.Second, 1000
	s := must.Get(service.New(m, events.DefaultsFor(m), opt))(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		must.Do(t, <-stopped)
	}()
	address := l.Addr().String()
	streams := recordings(t)
	cuts := []string{`"type":"limit_data","attributes":{"bytes":%d}`, `"type":"reset_peer","attributes":{"timeout":%d}`, `"type":"timeout","attributes":{"timeout":%d}`}
	delays := []string{
		`"type":"latency","attributes":{"latency":5,"jitter":5}`, `"type":"slow_close","attributes":{"delay":20}`,
		`"type":"slicer","attributes":{"average_size":500,"size_variation":400,"delay":5}`,
	}
	sessions := must.Cases(24, 1000)
	var held, broken, resumed atomic.Int64
	var all sync.WaitGroup
	limit := make(chan bool, 8)
	for i := range sessions {
		limit <- true
		all.Go(func() {
			defer func() { <-limit }()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			c := networkClient{name: fmt.Sprint("stream", i), upload: i%2 == 1, recording: streams[i%len(streams)]}
			defer func() { broken.Add(int64(c.broken)); resumed.Add(int64(c.resumed)) }()
			// Some connections are cut, another is slow, and then one has no fault.
			for _, faults := range [][]string{cuts, cuts, delays} {
				stream := []string{"upstream", "downstream"}[r.IntN(2)]
				fault := fmt.Sprintf(`{"name":"fault","stream":%q,`, stream) + faults[r.IntN(3)] + "}"
				if n := strings.Count(fault, "%d"); n > 0 {
					most := 40 // ms
					if strings.Contains(fault, "limit_data") {
						most = len(c.pcm)
						if stream == "downstream" {
							most = 1500
						}
					}
					fault = fmt.Sprintf(fault, 1+r.IntN(most))
				}
				if c.attempt(t.Context(), lossyProxy(t, address, fault)) {
					held.Add(check(t, i, c.got, c.want))
					return
				}
			}
			for range 100 {
				if c.attempt(t.Context(), address) {
					held.Add(check(t, i, c.got, c.want))
					return
				}
				time.Sleep(50 * time.Millisecond) // until the service has noticed the last fault
			}
			t.Errorf("stream %d did not end", i)
		})
	}
	all.Wait()
	t.Logf("%d streams: %d attempts broken, %d resumed", sessions, broken.Load(), resumed.Load())
	if resumed.Load() < int64(sessions/4) {
		t.Errorf("%d attempts of %d streams resumed after sample 0, expected a quarter or more", resumed.Load(), sessions)
	}
	must.Tally(t, "a stream over a faulty network has every event once", sessions, int(held.Load()))
}

// check returns 1 if the events are right.
func check(t *testing.T, i int, got, want []report.Event) int64 {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stream %d: events %v, expected %v", i, got, want)
		return 0
	}
	return 1
}
