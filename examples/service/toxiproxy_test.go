package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/coder/websocket"
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

// attempt sends the audio of a stream from where the service resumes it, and adds the events that
// it receives. It reports whether the end line arrived.
func attempt(ctx context.Context, address, id string, pcm []byte, got *[]report.Event) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // of a network that delivers nothing
	defer cancel()
	conn, _, err := websocket.Dial(ctx, fmt.Sprintf("ws://%s/v1/streams/%s?events=%d", address, id, len(*got)), nil)
	if err != nil {
		return false
	}
	defer conn.CloseNow()
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return false
		}
		var line struct {
			report.Event
			Samples *int64
		}
		if json.Unmarshal(b, &line) != nil {
			return false
		}
		switch line.Type {
		case "start":
			go func(rest []byte) {
				for ; len(rest) > 0; rest = rest[min(1600, len(rest)):] {
					if conn.Write(ctx, websocket.MessageBinary, rest[:min(1600, len(rest))]) != nil {
						return
					}
				}
				conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`))
			}(pcm[2**line.Samples:])
		case "event":
			*got = append(*got, line.Event)
		case "end":
			conn.Close(websocket.StatusNormalClosure, "")
			return true
		default:
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
	pcm := encode(tonemodel.Words().Samples)
	var want []report.Event
	if !attempt(t.Context(), address, "whole", pcm, &want) || len(want) == 0 {
		t.Fatalf("%d events without faults", len(want))
	}
	var faults []string
	for _, stream := range []string{"upstream", "downstream"} {
		for _, f := range []string{
			`"type":"latency","attributes":{"latency":5,"jitter":5}`, `"type":"slow_close","attributes":{"delay":20}`,
			`"type":"limit_data","attributes":{"bytes":%d}`, `"type":"reset_peer","attributes":{"timeout":%d}`,
			`"type":"timeout","attributes":{"timeout":%d}`, `"type":"slicer","attributes":{"average_size":500,"size_variation":400,"delay":5}`,
		} {
			faults = append(faults, fmt.Sprintf(`{"name":"fault","stream":%q,%s}`, stream, f))
		}
	}
	sessions := must.Cases(24, 1000)
	var held atomic.Int64
	var all sync.WaitGroup
	limit := make(chan bool, 8)
	for i := range sessions {
		limit <- true
		all.Go(func() {
			defer func() { <-limit }()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			var got []report.Event
			// Some connections have a fault each, and then one has none.
			for range 3 {
				fault := faults[(i+r.IntN(3))%len(faults)]
				if n := strings.Count(fault, "%d"); n > 0 {
					most := 300 // ms
					if strings.Contains(fault, "limit_data") {
						most = len(pcm)
						if strings.Contains(fault, "downstream") {
							most = 1500
						}
					}
					fault = fmt.Sprintf(fault, 1+r.IntN(most))
				}
				if attempt(t.Context(), lossyProxy(t, address, fault), fmt.Sprint("stream", i), pcm, &got) {
					held.Add(check(t, i, got, want))
					return
				}
			}
			for range 100 {
				if attempt(t.Context(), address, fmt.Sprint("stream", i), pcm, &got) {
					held.Add(check(t, i, got, want))
					return
				}
				time.Sleep(50 * time.Millisecond) // until the service has noticed the last fault
			}
			t.Errorf("stream %d did not end", i)
		})
	}
	all.Wait()
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
