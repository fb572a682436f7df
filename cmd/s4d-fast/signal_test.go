package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stream that waits for input ends at a signal with its end line; one whose header has not come ends at once.
func TestStreamInterrupted(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 1000))
	for name, sent := range map[string][]byte{"in the header": whole[:10], "after 900 samples": whole[:44+1800]} {
		in, out := io.Pipe()
		var stdout, stderr bytes.Buffer
		done := make(chan int)
		go func() { done <- run([]string{"stream", m, "-"}, streams{in: in, out: &stdout, err: &stderr}) }()
		if _, err := out.Write(sent); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if err := interruptSelf(); err != nil {
			t.Skipf("this system has no interrupt to send: %v", err)
		}
		select {
		case code := <-done:
			if name == "in the header" && code != 128+int(syscall.SIGINT) {
				t.Errorf("%s: exit code %d", name, code)
			}
			if name != "in the header" && (code != exitOK || !strings.Contains(stdout.String(), `"type":"end"`)) {
				t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, stdout.String(), stderr.String())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still running", name)
		}
		out.Close()
	}
}

// An interrupt ends data listops at the next expression and leaves no part of a file.
func TestDataListOpsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	done := make(chan int)
	go func() {
		code, _, _ := invoke(nil, "data", "listops", "--out", dir, "--n", "20000000")
		done <- code
	}()
	waitFor(t, filepath.Join(dir, "made-by.txt"))
	if err := interruptSelf(); err != nil {
		t.Skipf("this system has no interrupt to send: %v", err)
	}
	select {
	case code := <-done:
		if code != 128+int(syscall.SIGINT) {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "basic_*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
