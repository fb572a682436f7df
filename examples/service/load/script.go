package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/report"
)

const (
	chunkDuration = time.Second / 10
	maxScripts    = 8
	maxRounds     = 7 * 24 * 60
	pause         = 0.3 // seconds between two words
	tail          = 0.5 // seconds of silence at the end of a clip, in which its last event ends
)

// script is the audio that a client sends, clip by clip, and the events that it expects.
type script struct {
	rate     float64 // Hz
	rounds   int     // how often the clip is sent
	chunks   [][]byte
	expected []expectedEvent
}

// expectedEvent is an event and the chunk after which it is reported, counted over all rounds.
type expectedEvent struct {
	event report.Event
	chunk int
}

func (s *script) duration() time.Duration { return time.Duration(len(s.chunks)) * chunkDuration }

// makeScripts returns scripts of WAV files with a word each. Every script starts with another file.
func makeScripts(modelName string, files []string, seconds float64, rounds int) ([]*script, error) {
	switch {
	case len(files) == 0:
		return nil, errors.New("no arguments: expected WAV files with a word each")
	case !(seconds >= chunkDuration.Seconds() && seconds <= time.Minute.Seconds()): // or NaN
		return nil, fmt.Errorf("-seconds %g: expected %g to %g", seconds, chunkDuration.Seconds(), time.Minute.Seconds())
	case rounds < 1 || rounds > maxRounds:
		return nil, fmt.Errorf("-minutes %d: expected 1 to %d", rounds, maxRounds)
	}
	load := model.Load
	if pretrained.Has(modelName) {
		load = pretrained.Load
	}
	m, err := load(modelName)
	if err != nil {
		return nil, err
	}
	r, err := events.New(m, events.DefaultsFor(m))
	if err != nil {
		return nil, err
	}
	var all []*script
	found := 0
	for i := range min(maxScripts, len(files)) {
		s := &script{rate: r.SampleRate(), rounds: rounds}
		clip, err := s.join(append(files[i:len(files):len(files)], files[:i]...), seconds)
		if err != nil {
			return nil, err
		}
		s.cut(clip)
		if err := s.recognize(r); err != nil {
			return nil, err
		}
		all, found = append(all, s), found+len(s.expected)
	}
	if found == 0 {
		return nil, fmt.Errorf("the model finds no event in the first words of the files that fit into %g s: expected other files or more -seconds", seconds)
	}
	return all, nil
}

// join returns a clip of as many words as fit.
func (s *script) join(files []string, seconds float64) ([]float32, error) {
	clip := make([]float32, int(seconds*s.rate))
	at := int(pause * s.rate)
	for _, path := range files {
		word, format, err := audio.ReadWAVFile(path)
		if err != nil {
			return nil, err
		}
		if float64(format.SampleRate) != s.rate || format.Channels != 1 {
			return nil, fmt.Errorf("%s: %d channels at %d Hz, expected 1 at %g Hz", path, format.Channels, format.SampleRate, s.rate)
		}
		if at+len(word)+int(tail*s.rate) > len(clip) {
			break
		}
		at += copy(clip[at:], word) + int(pause*s.rate)
	}
	return clip, nil
}

// cut divides a clip into chunks of s16le. An incomplete chunk at the end is dropped.
func (s *script) cut(clip []float32) {
	size := int(chunkDuration.Seconds() * s.rate)
	for ; len(clip) >= size; clip = clip[size:] {
		var b []byte
		for _, v := range clip[:size] {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(v*(1<<15))))
		}
		s.chunks = append(s.chunks, b)
	}
}

// recognize sets the expected events to those of a detector.
func (s *script) recognize(r *events.Recognizer) error {
	d := r.NewDetector()
	for n := range s.rounds * len(s.chunks) {
		b := s.chunks[n%len(s.chunks)]
		x := make([]float32, len(b)/2)
		for i := range x {
			x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / (1 << 15)
		}
		found, err := d.Process(x)
		if err != nil {
			return err
		}
		for _, e := range found {
			s.expected = append(s.expected, expectedEvent{report.NewEvent(e, func(n int64) int64 { return n }), n})
		}
	}
	return nil
}
