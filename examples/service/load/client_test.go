package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memnet"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// saveFiles saves a model of two tones and three words.
func saveFiles(t *testing.T) (name string, words []string) {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	dir := t.TempDir()
	name = filepath.Join(dir, "tones.safetensors")
	must.Do(t, m.Save(name))
	for i, label := range []string{"low", "high", "low"} {
		s := &tonemodel.Sound{}
		s.Tone(label, 0.4)
		path := filepath.Join(dir, string(rune('a'+i))+".wav")
		must.Do(t, audio.WriteWAVFile(path, tonemodel.SampleRate, s.Samples))
		words = append(words, path)
	}
	return name, words
}

// fakeService recognises events as the service does and changes each with a function. It returns a
// client for it.
func fakeService(t *testing.T, change func(*report.Event)) *http.Client {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	r := must.Get(events.New(m, events.Defaults()))(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		conn, err := websocket.Accept(w, req, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		d, ctx := r.NewDetector(), context.Background()
		send := func(v any) {
			b, _ := json.Marshal(v)
			conn.Write(ctx, websocket.MessageText, b)
		}
		send(report.Start{Type: "start"})
		for {
			kind, b, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if kind == websocket.MessageText {
				send(report.End{Type: "end"})
				return
			}
			x := make([]float32, len(b)/2)
			for i := range x {
				x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / (1 << 15)
			}
			found, err := d.Process(x)
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(40 * time.Millisecond)
			for _, e := range found {
				line := report.NewEvent(e, func(n int64) int64 { return n })
				change(&line)
				send(line)
			}
		}
	})
	l := memnet.Listen()
	s := &http.Server{Handler: handler}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Client()
}

// Expected events are counted with their latency. Others are failures.
func TestLoad(t *testing.T) {
	name, words := saveFiles(t)
	scripts := must.Get(makeScripts(name, words, 2, 1))(t)
	want := 0
	for i := range 6 {
		want += len(scripts[i%len(scripts)].expected)
	}
	if len(scripts) != 3 || want != 12 { // two words fit into two seconds
		t.Fatalf("%d scripts with %d events, expected 3 with 12", len(scripts), want)
	}
	for _, c := range []struct {
		late     time.Duration
		lateOnes int
	}{{50 * time.Millisecond, 0}, {30 * time.Millisecond, want}} {
		synctest.Test(t, func(t *testing.T) {
			l := load{address: "memory", http: fakeService(t, func(*report.Event) {}), scripts: scripts, clients: 6, period: time.Second, late: c.late}
			l.run()
			if err := l.failed(); err != nil {
				t.Error(err)
			}
			if l.events != want || l.lateOnes != c.lateOnes {
				t.Errorf("%d events, %d late; expected %d, %d late", l.events, l.lateOnes, want, c.lateOnes)
			}
			if text := l.String(); !strings.Contains(text, "6 clients") {
				t.Errorf("%s does not contain the number of clients", text)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := load{address: "memory", http: fakeService(t, func(e *report.Event) { e.End++ }), scripts: scripts, clients: 2, period: time.Second}
		l.run()
		must.Fail(t, l.failed(), "event 0 is")
	})
}

// Numbers without sense, and clips in which nothing would be tested, are errors.
func TestScriptErrors(t *testing.T) {
	name, words := saveFiles(t)
	if _, err := makeScripts(name, nil, 2, 1); err == nil {
		t.Error("no error without files")
	}
	for _, seconds := range []float64{math.NaN(), math.Inf(1), -1, 0, 0.05, 61, 1e12} {
		must.Reject(makeScripts(name, words, seconds, 1))(t, "-seconds")
	}
	for _, minutes := range []int{-1, 0, math.MaxInt} {
		must.Reject(makeScripts(name, words, 2, minutes))(t, "-minutes")
	}
	must.Reject(makeScripts(name, words, 1, 1))(t, "no event", "1 s")
	for _, clients := range []int{-1, 0, math.MaxInt} {
		must.Fail(t, checkFlags(clients, 1.2), "-clients")
	}
	for _, step := range []float64{math.NaN(), math.Inf(1), 1, -2} {
		must.Fail(t, checkFlags(1, step), "-step")
	}
	path := filepath.Join(t.TempDir(), "fast.wav")
	must.Do(t, audio.WriteWAVFile(path, 44100, make([]float32, 100)))
	must.Reject(makeScripts(name, []string{path}, 2, 1))(t, "44100 Hz")
}
