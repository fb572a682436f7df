package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/internal/must"
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
				cancel(signalError{syscall.SIGINT})
				if code := <-done; code != c.code {
					t.Errorf("exit code %d, expected %d; stderr %q", code, c.code, stderr.String())
				}
				if got := strings.Count(stdout.String(), `"type":"frame"`); got != c.frames {
					t.Errorf("%d frames, expected %d: %q", got, c.frames, stdout.String())
				}
				if c.code != exitOK {
					return
				}
				_, end := lines(t, stdout.String())
				if end.Samples != c.samples {
					t.Errorf("the end line counts %d samples, expected %d", end.Samples, c.samples)
				}
				if end.Truncated {
					t.Error("the end line says that the audio was truncated; a signal ended it")
				}
			})
		})
	}
}

// After a signal, everything that was read is still processed, however late the reader of the lines
// takes them.
func TestStreamInterruptedStalled(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 32000))
	for _, c := range []struct {
		format  string
		sent    []byte
		samples int64
	}{
		{"s16le", whole[44:], 32000},
		{"wav", whole[:44+30000], 15000},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			in, source := io.Pipe()
			defer source.Close()
			printed, stdout := io.Pipe()
			done := make(chan int, 1)
			go func() {
				done <- run(ctx, []string{"stream", m, "--format", c.format, "--emit", "frames", "--hop", "1000"}, streams{in: in, out: stdout, err: io.Discard})
				stdout.Close()
			}()
			go source.Write(c.sent)
			reader := bufio.NewReader(printed)
			start, err := reader.ReadString('\n') // and no frame yet
			must.Do(t, err)
			synctest.Wait()
			cancel(signalError{syscall.SIGINT})
			synctest.Wait()
			rest, err := io.ReadAll(reader)
			if err != nil {
				t.Fatalf("%s: %v", c.format, err)
			}
			if code := <-done; code != exitOK {
				t.Errorf("%s: exit code %d", c.format, code)
			}
			if _, end := lines(t, start+string(rest)); end.Samples != c.samples {
				t.Errorf("%s: the end line counts %d samples, expected %d", c.format, end.Samples, c.samples)
			}
		})
	}
}

// Once the reader of the lines has gone, the source is not read any further, live or not.
func TestStreamStopsReading(t *testing.T) {
	for _, live := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			reads := make(chan int)
			p := pump{audio: &audioInput{source: stepped(reads)}, block: 1, live: live}
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
					t.Fatalf("live %v: it still reads after %d samples", live, n)
				}
			}
		})
	}
}

// stepped is a source whose reads return the numbers of samples that are sent to it.
type stepped chan int

func (s stepped) Read([]float32) (int, error) { return <-s, nil }

// After a signal a stream ends soon, although the readers still hold hours of audio.
func TestStreamStopsResampling(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{syscall.SIGTERM})
	var stdout bytes.Buffer
	counter := &counter{}
	p := pump{audio: &audioInput{source: endless{}, inputRate: 1, rate: 8000}, sink: counter, block: 80, out: json.NewEncoder(&stdout)}
	err := p.run(ctx)
	must.Equal(t, exitCode(ctx, err), 128+int(syscall.SIGTERM), "error %v: exit code", err)
	if counter.samples < 8000 {
		t.Errorf("%d samples after the signal, expected at least a second of audio", counter.samples)
	}
	if counter.samples > 60*8000 {
		t.Errorf("%d samples after the signal, expected at most a minute of audio", counter.samples)
	}
	contains(t, "stdout", stdout.String(), `"type":"end"`)
}

// endless is a source that never ends.
type endless struct{}

func (endless) Read(dst []float32) (int, error) { return len(dst), nil }

// counter is a sink that counts samples.
type counter struct{ samples int }

func (c *counter) process(samples []float32) error { c.samples += len(samples); return nil }
func (c *counter) skip(int64) error                { return nil }
func (c *counter) flush() error                    { return nil }
