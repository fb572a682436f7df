// Command service hears words in audio that clients stream to it, over HTTP or WebSocket, and answers with JSON Lines. README.md says how
// to speak to it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

func main() {
	cfg := defaults()
	listen := flag.String("listen", "localhost:8080", "`address` to listen at; port 0 takes a free one")
	path := flag.String("model", "digits", "model `file`, or the name of a built-in model")
	grace := flag.Duration("grace", 10*time.Second, "`time` that shutting down may take")
	opt := events.Defaults()
	flag.Float64Var(&opt.SampleRate, "rate", 0, "sampling `rate` of the audio in Hz (0: the model's; at another the model's steps are scaled)")
	threshold := flag.Float64("threshold", opt.Threshold, "posterior that makes an event; below half of it the event has ended")
	flag.StringVar(&cfg.Dir, "snapshots", "", "`folder` for the streams that are not connected; without one they are lost")
	flag.DurationVar(&cfg.Keep, "keep", cfg.Keep, "`time` for which a stream that is not connected can be resumed")
	flag.Int64Var(&cfg.MaxStore, "max-store", cfg.MaxStore, "`bytes` that the snapshots may take")
	flag.IntVar(&cfg.MaxStreams, "max-streams", cfg.MaxStreams, "`streams` at once, in all")
	flag.IntVar(&cfg.MaxPerClient, "max-per-client", cfg.MaxPerClient, "`streams` at once, of one client; and as many that are not connected")
	flag.Int64Var(&cfg.MaxMessage, "max-message", cfg.MaxMessage, "`bytes` of a WebSocket message")
	flag.DurationVar(&cfg.Idle, "idle", cfg.Idle, "`time` without audio after which a stream is disconnected")
	flag.DurationVar(&cfg.Slow, "slow", cfg.Slow, "`time` that a client may take to read a line")
	flag.StringVar(&cfg.TokenHeader, "token-header", "", "`header` that tells clients apart, set by a proxy that has checked it (default: by their address)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "service: no arguments, only flags: -help lists them")
		os.Exit(2)
	}
	if err := run(*listen, *path, opt.WithThreshold(*threshold), cfg, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		if errors.As(err, &usageError{}) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run serves until SIGTERM or Ctrl-C; the second of them ends the process at once.
func run(listen, path string, opt events.Options, cfg config, grace time.Duration) error {
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	cfg.Model, cfg.Log = path, slog.Default()
	s, err := newServer(m, opt, cfg)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		cfg.Log.Info("shutting down", "grace", grace)
	})
	cfg.Log.Info("listening", "address", l.Addr().String(), "model", path, "stream_bytes", s.recognizer.StateBytes())
	return s.serve(ctx, l, grace)
}

func loadModel(path string) (*model.Model, error) {
	if pretrained.Has(path) {
		return pretrained.Load(path)
	}
	return model.Load(path)
}

// serve answers until ctx is cancelled, then lets the streams go and takes at most grace for that.
func (s *server) serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	h := &http.Server{ // an answer that takes longer than WriteTimeout sets its own deadlines
		Handler: s, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14,
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	began := time.Now()
	s.streams.drain()
	end, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	h.Shutdown(end) // which knows nothing of WebSockets; who is too slow for it has been kept, or wait tells
	err := s.streams.wait(end)
	h.Close()
	s.cfg.Log.Info("stopped", "took", time.Since(began), "error", err)
	return err
}
