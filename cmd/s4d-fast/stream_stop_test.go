package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
)

// A signal ends a stream that waits for input: it processes what has arrived, even part of a hop,
// and prints its end line. A stream whose header is incomplete prints nothing.
func TestStreamInterrupted(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 3000))
	for _, c := range []struct {
		name, format string
		sent         []byte
		code         int
		frames       int
		samples      int64
	}{
		{"in the header", "wav", whole[:10], 128 + int(syscall.SIGINT), 0, 0},
		{"WAV", "wav", whole[:44+5000], exitOK, 2, 2500},
		{"raw", "s16le", whole[44 : 44+5000], exitOK, 2, 2500},
		{"inside a sample", "s16le", whole[44 : 44+5001], exitOK, 2, 2500},
		{"no samples", "s16le", nil, exitOK, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				in, source := io.Pipe()
				defer source.Close()
				var stdout, stderr bytes.Buffer
				done := make(chan int, 1)
				go func() {
					done <- run(ctx, []string{"stream", m, "-", "--format", c.format, "--emit", "frames", "--hop", "2000"}, streams{in: in, out: &stdout, err: &stderr})
				}()
				must.Get(source.Write(c.sent))(t)
				synctest.Wait() // it waits for more
				cancel(program.Signal(syscall.SIGINT))
				must.Equal(t, <-done, c.code, "exit code; stderr %q", &stderr)
				must.Equal(t, strings.Count(stdout.String(), `"type":"frame"`), c.frames, "frames in %q", &stdout)
				if c.code != exitOK {
					return
				}
				_, end := lines(t, stdout.String())
				must.Equal(t, end.Samples, c.samples, "samples in the end line")
				if end.Truncated {
					t.Error("the end line says that the audio was truncated; a signal ended it")
				}
			})
		})
	}
}

// Once the reader of the lines has gone, the source is not read any further.
func TestStreamStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := make(chan int)
		p := pump{audio: &audioInput{source: stepped(reads), input: new(audio.InputReader)}, size: 1}
		done := make(chan struct{})
		p.read(done)
		close(done)
		for n := 0; ; n++ {
			synctest.Wait()
			select {
			case reads <- 1:
			default:
				return
			}
			if n == 100 {
				t.Fatalf("it still reads after %d samples", n)
			}
		}
	})
}

// stepped is a source whose reads return the numbers of samples that are sent to it.
type stepped chan int

func (s stepped) Read([]float32) (int, error) { return <-s, nil }
