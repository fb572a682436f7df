package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	chunkSeconds = 0.1
	maxScripts   = 8
	pause        = 0.3 // seconds between two words
	tail         = 0.5 // seconds of silence at the end of a clip: its last word ends in it
)

// script is what a client says, clip by clip, and what it must be answered.
type script struct {
	rate    float64
	rounds  int
	chunks  [][]byte // of one clip, s16le
	answers []answer
}

// answer is an event, and the chunk of all clips' that settles it.
type answer struct {
	event report.Event
	chunk int
}

func (s *script) duration() time.Duration {
	return time.Duration(float64(len(s.chunks)) * chunkSeconds * float64(time.Second))
}

// write makes scripts of files with words, each beginning with another file.
func write(name string, files []string, seconds float64, rounds int) ([]*script, error) {
	if len(files) == 0 {
		return nil, errors.New("name some WAV files with a word each")
	}
	load := model.Load
	if pretrained.Has(name) {
		load = pretrained.Load
	}
	m, err := load(name)
	if err != nil {
		return nil, err
	}
	f, err := events.New(m, events.Defaults())
	if err != nil {
		return nil, err
	}
	var all []*script
	for i := range min(maxScripts, len(files)) {
		s := &script{rate: f.SampleRate(), rounds: rounds}
		clip, err := s.clip(append(files[i:len(files):len(files)], files[:i]...), seconds)
		if err != nil {
			return nil, err
		}
		if err := s.listen(f, clip); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// clip joins words until there is no room for another.
func (s *script) clip(files []string, seconds float64) ([]float32, error) {
	clip := make([]float32, int(seconds*s.rate))
	at := int(pause * s.rate)
	for _, path := range files {
		word, format, err := audio.ReadWAVFile(path)
		if err != nil {
			return nil, err
		}
		if float64(format.SampleRate) != s.rate || format.Channels != 1 {
			return nil, fmt.Errorf("%s: %d channels at %d Hz; the model expects 1 at %g Hz", path, format.Channels, format.SampleRate, s.rate)
		}
		if at+len(word)+int(tail*s.rate) > len(clip) {
			break
		}
		at += copy(clip[at:], word) + int(pause*s.rate)
	}
	return clip, nil
}

// listen cuts the clip into chunks and hears it as often as it will be sent.
func (s *script) listen(f *events.Recognizer, clip []float32) error {
	size := int(chunkSeconds * s.rate)
	for len(clip) >= size {
		var b []byte
		for _, v := range clip[:size] {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
		}
		s.chunks, clip = append(s.chunks, b), clip[size:]
	}
	d := f.NewDetector()
	x := make([]float32, size)
	for n := range s.rounds * len(s.chunks) {
		for i := range x {
			x[i] = float32(int16(binary.LittleEndian.Uint16(s.chunks[n%len(s.chunks)][2*i:]))) / (1 << 15)
		}
		found, err := d.Process(x)
		if err != nil {
			return err
		}
		for _, e := range found {
			s.answers = append(s.answers, answer{report.NewEvent(e, func(n int64) int64 { return n }), n})
		}
	}
	return nil
}

// client speaks its script over one connection, which it opens at once and holds until all clients have spoken; its first clip waits.
func (l *load) client(s *script, wait time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	first, last := began.Add(wait), began.Add(time.Duration(s.rounds)*l.period+s.duration())
	conn, _, err := websocket.Dial(ctx, "ws://"+l.address+"/v1/streams", nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	sent := make([]atomic.Int64, s.rounds*len(s.chunks)) // when, in ns of the Unix time
	heard := make(chan error, 1)
	go func() {
		err := l.listen(ctx, conn, s, sent)
		if err != nil {
			cancel()
		}
		heard <- err
	}()
	for n := range sent {
		due := first.Add(time.Duration(n/len(s.chunks))*l.period + time.Duration(n%len(s.chunks))*time.Second/10)
		if !sleep(ctx, due) {
			return <-heard
		}
		sent[n].Store(time.Now().UnixNano())
		if err := conn.Write(ctx, websocket.MessageBinary, s.chunks[n%len(s.chunks)]); err != nil {
			return errors.Join(err, <-heard)
		}
	}
	sleep(ctx, last)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`)); err != nil {
		return err
	}
	return <-heard
}

// sleep waits for a time, unless ctx is cancelled before.
func sleep(ctx context.Context, until time.Time) bool {
	select {
	case <-time.After(time.Until(until)):
		return true
	case <-ctx.Done():
		return false
	}
}

// listen compares the lines with the script's answers.
func (l *load) listen(ctx context.Context, conn *websocket.Conn, s *script, sent []atomic.Int64) error {
	for next := 0; ; {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var line report.Event
		if err := json.Unmarshal(b, &line); err != nil {
			return err
		}
		switch line.Type {
		case "start":
		case "event":
			if next >= len(s.answers) || line != s.answers[next].event {
				return fmt.Errorf("answer %d is %s", next, b)
			}
			l.heard(time.Since(time.Unix(0, sent[s.answers[next].chunk].Load())))
			next++
		case "end":
			if next != len(s.answers) {
				return fmt.Errorf("%d answers, want %d", next, len(s.answers))
			}
			return nil
		default:
			return errors.New(string(b))
		}
	}
}
