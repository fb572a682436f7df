package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// files saves a model of two tones and three words.
func files(t *testing.T) (name string, words []string) {
	t.Helper()
	m, err := tonemodel.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name = filepath.Join(dir, "tones.safetensors")
	if err := m.Save(name); err != nil {
		t.Fatal(err)
	}
	for i, label := range []string{"low", "high", "low"} {
		s := &tonemodel.Sound{}
		s.Tone(label, 0.4)
		path := filepath.Join(dir, string(rune('a'+i))+".wav")
		if err := audio.WriteWAVFile(path, tonemodel.SampleRate, s.Samples); err != nil {
			t.Fatal(err)
		}
		words = append(words, path)
	}
	return name, words
}

// service answers as the real one does, but for what twist changes.
func service(t *testing.T, twist func(*report.Event)) string {
	t.Helper()
	m, err := tonemodel.New()
	if err != nil {
		t.Fatal(err)
	}
	f, err := events.New(m, events.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		d, ctx := f.NewDetector(), context.Background()
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
			for _, e := range found {
				line := report.NewEvent(e, func(n int64) int64 { return n })
				twist(&line)
				send(line)
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// Right answers are counted and timed, wrong ones are failures.
func TestLoad(t *testing.T) {
	name, words := files(t)
	scripts, err := write(name, words, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for i := range 6 {
		want += len(scripts[i%len(scripts)].answers)
	}
	if len(scripts) != 3 || want != 12 { // two words fit into two seconds
		t.Fatalf("%d scripts, %d answers", len(scripts), want)
	}
	l := &load{address: service(t, func(*report.Event) {}), scripts: scripts, clients: 6, period: time.Second, rounds: 1, late: time.Minute}
	l.run()
	if l.failed() != nil || l.answers != want || l.tooLate != 0 || !strings.Contains(l.String(), "6 clients") {
		t.Errorf("%v, want %d answers", l, want)
	}
	l = &load{address: service(t, func(e *report.Event) { e.End++ }), scripts: scripts, clients: 2, period: time.Second, rounds: 1, late: 0}
	l.run()
	if err := l.failed(); err == nil || !strings.Contains(err.Error(), "answer 0 is") {
		t.Errorf("wrong answers give %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	name, _ := files(t)
	if _, err := write(name, nil, 2, 1); err == nil {
		t.Error("no words are no error")
	}
	path := filepath.Join(t.TempDir(), "fast.wav")
	if err := audio.WriteWAVFile(path, 44100, make([]float32, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := write(name, []string{path}, 2, 1); err == nil || !strings.Contains(err.Error(), "44100 Hz") {
		t.Errorf("a word at 44100 Hz: %v", err)
	}
}
