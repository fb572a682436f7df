// Command service recognises words in audio that clients stream to it over HTTP or WebSocket, and
// responds with JSON Lines. README.md describes the protocol.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

func main() {
	cfg := defaults()
	var set []func(*events.Options) // by flags
	listen := flag.String("listen", "localhost:8080", "`address` to listen on; port 0 selects a free port")
	path := flag.String("model", "digits", "model `file`, or the name of a built-in model")
	grace := flag.Duration("grace", 10*time.Second, "longest `time` that a shutdown takes")
	option := func(name, usage string, apply func(o *events.Options, v float64)) {
		flag.Func(name, usage, func(text string) error {
			v, err := strconv.ParseFloat(text, 64)
			set = append(set, func(o *events.Options) { apply(o, v) })
			return err
		})
	}
	option("rate", "sampling `rate` of the audio in Hz; if it is not the model's rate, the model's steps are scaled, which a model with a filter bank does not support (default: the model's rate)",
		func(o *events.Options, v float64) { o.SampleRate = v })
	option("threshold", "`posterior` that starts an event; the event ends below half of it (default: that of the model's calibration, or 0.7, or 0.5 with a filter bank)",
		func(o *events.Options, v float64) { *o = o.WithThreshold(v) })
	flag.StringVar(&cfg.Dir, "snapshots", "", "`folder` where interrupted streams are saved (default: they are not saved)")
	flag.DurationVar(&cfg.Keep, "keep", cfg.Keep, "`time` after which a saved stream is deleted")
	flag.Int64Var(&cfg.MaxStore, "max-store", cfg.MaxStore, "maximal total size of the snapshots in `bytes`")
	flag.IntVar(&cfg.Connections, "connections", cfg.Connections, "maximal number of open `connections`; more get status 503")
	flag.IntVar(&cfg.MaxStreams, "max-streams", cfg.MaxStreams, "maximal number of connected `streams`")
	flag.IntVar(&cfg.MaxPerClient, "max-per-client", cfg.MaxPerClient, "maximal number of connected `streams` per client, and of saved ones")
	flag.Int64Var(&cfg.MaxMessage, "max-message", cfg.MaxMessage, "maximal size of a WebSocket message in `bytes`")
	flag.DurationVar(&cfg.Idle, "idle", cfg.Idle, "`time` without audio after which a stream is disconnected")
	flag.DurationVar(&cfg.Slow, "slow", cfg.Slow, "`time` within which a client must read a line")
	flag.StringVar(&cfg.TokenHeader, "token-header", "", "`header` that identifies a client, set by a proxy that has verified it (default: the client's address)")
	flag.Func("host", "`name` of this server in a request's Host header, in addition to localhost and IP addresses; may be repeated", func(name string) error {
		cfg.Hosts = append(cfg.Hosts, strings.ToLower(name))
		return nil
	})
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "service: argument %q: expected only flags; -help lists them\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := level.Set(""); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(2)
	}
	if err := run(*listen, *path, set, cfg, *grace); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		if errors.As(err, &usageError{}) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run serves until SIGTERM or Ctrl-C. The second signal ends the process at once. The functions in
// set change the model's default options.
func run(listen, path string, set []func(*events.Options), cfg config, grace time.Duration) error {
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	opt := events.DefaultsFor(m)
	for _, apply := range set {
		apply(&opt)
	}
	cfg.Model, cfg.Log = path, slog.Default()
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		cfg.Hosts = append(cfg.Hosts, strings.ToLower(host))
	}
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
	cfg.Log.Info("listening", "address", l.Addr().String(), "model", path, "stream_bytes", s.recognizer.StateBytes(), "connections", cfg.Connections)
	return s.serve(ctx, l, grace)
}

func loadModel(path string) (*model.Model, error) {
	if pretrained.Has(path) {
		return pretrained.Load(path)
	}
	return model.Load(path)
}
