package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stream that waits for input ends at a signal: it hears what came, a part of a hop and all, and prints its end line. One
// whose header has not come prints nothing.
func TestStreamInterrupted(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 3000))
	for _, c := range []struct {
		name, format string
		sent         []byte
		code         int
		frames       int
	}{
		{"in the header", "wav", whole[:10], 128 + int(syscall.SIGINT), 0},
		{"WAV", "wav", whole[:44+5000], exitOK, 2},
		{"raw", "s16le", whole[44 : 44+5000], exitOK, 2},
		{"in a sample", "s16le", whole[44 : 44+5001], exitOK, 2},
		{"without samples", "s16le", nil, exitOK, 0},
	} {
		in, out := io.Pipe()
		var stdout, stderr bytes.Buffer
		done := make(chan int)
		go func() {
			done <- run([]string{"stream", m, "-", "--format", c.format, "--emit", "frames", "--hop", "2000"}, streams{in: in, out: &stdout, err: &stderr})
		}()
		if _, err := out.Write(c.sent); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if err := interruptSelf(); err != nil {
			t.Skipf("this system has no interrupt to send: %v", err)
		}
		select {
		case code := <-done:
			if code != c.code || strings.Count(stdout.String(), `"type":"frame"`) != c.frames {
				t.Errorf("%s: exit code %d, want %d; stdout %q, want %d frames; stderr %q", c.name, code, c.code, stdout.String(), c.frames, stderr.String())
			}
			if code != exitOK {
				break
			}
			if _, end := lines(t, stdout.String()); end.Samples != int64(1250*c.frames) || end.Truncated {
				t.Errorf("%s: end line %+v", c.name, end)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still running", c.name)
		}
		out.Close()
	}
}

// A signal takes nothing away that has been read, however slowly the lines are taken.
func TestStreamInterruptedStalled(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 32000))
	for _, c := range []struct {
		format string
		sent   []byte
		want   int64
	}{
		{"s16le", whole[44:], 32000},
		{"wav", whole[:44+30000], 15000},
	} {
		in, out := io.Pipe()
		printed, stdout := io.Pipe()
		done := make(chan int, 1)
		go func() {
			done <- run([]string{"stream", m, "--format", c.format, "--emit", "frames", "--hop", "1000"}, streams{in: in, out: stdout, err: io.Discard})
			stdout.Close()
		}()
		go out.Write(c.sent)
		reader := bufio.NewReader(printed)
		start, err := reader.ReadString('\n') // and no frame
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if err := interruptSelf(); err != nil {
			t.Skipf("this system has no interrupt to send: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
		time.AfterFunc(10*time.Second, func() { printed.CloseWithError(errors.New("still running")) })
		rest, err := io.ReadAll(reader)
		if err != nil {
			t.Fatalf("%s: %v", c.format, err)
		}
		_, end := lines(t, start+string(rest))
		if code := <-done; code != exitOK || end.Samples != c.want {
			t.Errorf("%s: exit code %d, end line %+v, want %d samples", c.format, code, end, c.want)
		}
		out.Close()
	}
}
