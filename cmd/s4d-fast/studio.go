package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/studio"
)

type studioCmd struct {
	Addr    string `help:"Address and port to listen on: localhost or an IP address of the loopback. Port 0 selects a free port." default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Dir     string `help:"Folder of the projects." type:"path" default:"runs/studio" placeholder:"DIR"`
	Threads int    `help:"Number of worker threads for training (default: one per processor)." range:"0..1024" placeholder:"N"`
	NoOpen  bool   `help:"Do not open the page in a browser."`
}

func (c *studioCmd) Help() string {
	return `Serves a web page on which you record words, train a detector on them and listen with it. On a terminal, the page opens in
the browser. The printed address contains a secret token. Recordings and models stay in --dir, in one folder per
project. The folders have the layout of 's4d-fast train audio'. Ctrl-C ends the server. docs/studio.md describes the page.

Examples:
  s4d-fast studio
  s4d-fast studio --addr localhost:8070 --dir ~/words`
}

func (c *studioCmd) Run(std *streams, log *slog.Logger, ctx context.Context) error {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil || !studio.IsLoopback(c.Addr) {
		return usageError(fmt.Errorf("--addr %s: expected localhost or an IP address of the loopback, and a port, such as 127.0.0.1:8070", c.Addr))
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer l.Close()
	if !studio.IsLoopback(l.Addr().String()) { // localhost is only a name
		return fmt.Errorf("--addr %s is the address %s: expected an address of the loopback", c.Addr, l.Addr())
	}
	s, err := studio.New(studio.Config{Dir: c.Dir, Workers: c.Threads, Log: log})
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	address := fmt.Sprintf("http://%s/#%s", l.Addr(), url.Values{"token": {s.Token()}}.Encode())
	fmt.Fprintln(std.out, address)
	if std.errTTY && !c.NoOpen {
		page := filepath.Join(c.Dir, "studio.html") // a browser in a sandbox may not read hidden files
		defer os.Remove(page)
		openBrowser(page, address)
	}
	fmt.Fprintf(std.err, "open this address in a browser; the projects are in %s; Ctrl-C ends the studio\n", c.Dir)
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	// Close comes first, because Shutdown waits for requests, and some of them wait for Close.
	err = errors.Join(err, s.Close())
	ending, cancel := context.WithTimeout(context.Background(), studioGrace)
	defer cancel()
	if server.Shutdown(ending) != nil { // a client neither sends nor receives
		return errors.Join(err, server.Close())
	}
	return err
}

// studioGrace is the time that requests in progress have to end.
const studioGrace = time.Second

// openBrowser opens an address in the default browser, if there is one. Other users can read the
// arguments of a process, and with them the token, so the browser opens a page that only this user
// can read, which leads to the address.
func openBrowser(page, address string) {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if atomicfile.Write(page, 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, `<meta http-equiv="refresh" content="0; url=%s">`, address)
		return err
	}) == nil {
		_ = exec.Command(command[0], append(command[1:], page)...).Start() // without a browser, the printed address is left
	}
}
