package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
)

// startStudio runs studio until stop, which sends Ctrl-C. The address and the token are those that
// it prints.
func startStudio(t *testing.T, dir string) (address *url.URL, token string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"studio", "--dir", dir}, streams{out: stdout, err: &stderr}) }()
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	address = must.Get(url.Parse(strings.TrimSpace(line)))(t)
	return address, must.Get(url.ParseQuery(address.Fragment))(t).Get("token"), func() {
		cancel(program.Signal(syscall.SIGINT))
		must.Equal(t, <-done, exitOK, "exit code; %s", &stderr)
		contains(t, "stderr", stderr.String(), dir)
	}
}

// studio prints the address of the page, with the token that its interface requires. Ctrl-C ends
// it.
func TestStudio(t *testing.T) {
	address, token, stop := startStudio(t, filepath.Join(t.TempDir(), "projects"))
	must.Equal(t, net.ParseIP(address.Hostname()).IsLoopback(), true, "loopback in %s", address)
	request := func(method, path, token, body string) *http.Response {
		t.Helper()
		q := must.Get(http.NewRequestWithContext(t.Context(), method, "http://"+address.Host+path, strings.NewReader(body)))(t)
		q.Header.Set("X-Studio-Token", token)
		return must.Get(http.DefaultClient.Do(q))(t)
	}
	page := request("GET", "/", "", "")
	must.Equal(t, strings.Contains(string(must.Get(io.ReadAll(page.Body))(t)), "s4d-fast studio"), true, "page")
	must.Equal(t, request("GET", "/api/projects", "", "").StatusCode, http.StatusUnauthorized, "without the token")
	must.Equal(t, request("POST", "/api/projects", token, `{"name":"p"}`).StatusCode, http.StatusNoContent, "a new project")
	var first struct{ Version int64 }
	must.Do(t, json.NewDecoder(request("GET", "/api/projects/p/status", token, "").Body).Decode(&first))
	poll := must.Get(http.NewRequestWithContext(t.Context(), "GET", "http://"+address.Host+"/api/projects/p/status?after="+strconv.FormatInt(first.Version, 10), nil))(t)
	poll.Header.Set("X-Studio-Token", token)
	ended := make(chan struct{})
	go func() { // it ends with an answer or, if it comes too late, with an error
		defer close(ended)
		if r, err := http.DefaultClient.Do(poll); err == nil {
			r.Body.Close()
		}
	}()
	spare := must.Get(net.Dial("tcp", address.Host))(t) // browsers open connections before they need them
	defer spare.Close()
	stop()
	<-ended
}

// Ctrl-C ends studio with 0 although a client has stopped in the middle of an upload.
func TestStudioStuckUpload(t *testing.T) {
	address, token, stop := startStudio(t, t.TempDir())
	c := must.Get(net.Dial("tcp", address.Host))(t)
	defer c.Close()
	// The response 100 says that the server reads the body, which never comes.
	must.Get(fmt.Fprintf(c, "POST /api/projects HTTP/1.1\r\nHost: %s\r\nX-Studio-Token: %s\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", address.Host, token))(t)
	must.Equal(t, must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t).StatusCode, http.StatusContinue, "response")
	stop()
}

// studio listens only on the loopback, and accepts at most 1024 threads.
func TestStudioErrors(t *testing.T) {
	used := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer used.Close()
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--addr", "0.0.0.0:8070"}, exitUsage, "--addr 0.0.0.0:8070: expected localhost or an IP address of the loopback"},
		{[]string{"--addr", "example.com:80"}, exitUsage, "expected localhost"},
		{[]string{"--addr", ":8070"}, exitUsage, "expected localhost"},
		{[]string{"--addr", "localhost"}, exitUsage, "and a port"},
		{[]string{"--addr", used.Addr().String()}, exitFailed, "--addr: "},
		{[]string{"--threads=-1"}, exitUsage, "--threads -1: expected 0 to 1024"},
		{[]string{"--threads", "1025"}, exitUsage, "--threads 1025: expected 0 to 1024"},
		{[]string{"--dir", "main.go/x"}, exitFailed, "--dir: "},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), append([]string{"studio"}, c.args...), streams{out: io.Discard, err: &stderr})
		if code != c.code || !strings.Contains(stderr.String(), c.text) {
			t.Errorf("%q: exit code %d, %q, expected %d with %q", c.args, code, &stderr, c.code, c.text)
		}
	}
}

// On a terminal, the browser opens a page that leads to the address. The address is not among the
// arguments of the browser, and the page is removed at the end.
func TestStudioOpensBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("replaces xdg-open")
	}
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := "#!/bin/sh\ncat \"$1\" >" + opened + ".part\necho \"$1\" >>" + opened + ".part\nmv " + opened + ".part " + opened + "\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o777))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"studio", "--dir", t.TempDir()}, streams{out: io.Discard, err: io.Discard, errTTY: true})
	}()
	var text []byte
	for err := os.ErrNotExist; errors.Is(err, os.ErrNotExist); time.Sleep(time.Millisecond) {
		text, err = os.ReadFile(opened)
	}
	cancel(program.Signal(syscall.SIGINT))
	<-done
	page := strings.TrimSpace(string(text[bytes.LastIndexByte(bytes.TrimSpace(text), '>')+1:]))
	contains(t, "page", string(text), "http://127.0.0.1:", "#token=")
	must.Reject(os.Stat(page))(t, os.ErrNotExist)
}
