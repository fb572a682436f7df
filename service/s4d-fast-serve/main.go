// Command s4d-fast-serve recognises words in audio that clients stream to it over HTTP or
// WebSocket, and responds with JSON Lines. README.md describes the protocol.
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
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/service"
)

// flags are the values of the flags. Those of service.Options have the names of its fields.
type flags struct {
	service.Options
	listen, metrics, model string
	snapshots              string // folder
	maxStore               int64
	nats, credentials      string
	bucket                 string
	detect                 []func(*events.Options) // changes of the model's default options
}

func (f *flags) register() {
	f.Options = service.Defaults()
	flag.StringVar(&f.listen, "listen", "localhost:8080", "`address` to listen on; port 0 selects a free port")
	flag.StringVar(&f.metrics, "metrics", "", "`address` on which to serve Prometheus metrics and Go's profiles (default: they are not served)")
	flag.StringVar(&f.model, "model", "digits", "model `file`, or the name of a built-in model")
	option := func(name, usage string, apply func(o *events.Options, v float64)) {
		flag.Func(name, usage, func(text string) error {
			v, err := strconv.ParseFloat(text, 64)
			f.detect = append(f.detect, func(o *events.Options) { apply(o, v) })
			return err
		})
	}
	option("threshold", "`posterior` that starts an event; the event ends below half of it (default: that of the model's calibration, or 0.5)",
		func(o *events.Options, v float64) { *o = o.WithThreshold(v) })
	flag.StringVar(&f.snapshots, "snapshots", "", "`folder` where streams are saved (default: they are not saved)")
	flag.Int64Var(&f.maxStore, "max-store", 1<<30, "maximal total size of the snapshots in the folder in `bytes`")
	flag.StringVar(&f.nats, "nats", "", "`URL` of NATS, where streams are saved in place of -snapshots; several URLs are separated by commas")
	flag.StringVar(&f.credentials, "nats-creds", "", "`file` with the credentials of a NATS user (default: none)")
	flag.StringVar(&f.bucket, "bucket", "s4d-streams", "`name` of the key-value bucket in NATS; it is created if it does not exist")
	flag.DurationVar(&f.Keep, "keep", f.Keep, "`time` after which a saved stream is deleted")
	flag.DurationVar(&f.SaveEvery, "save-every", f.SaveEvery, "`time` between snapshots of a connected stream")
	flag.IntVar(&f.MaxStreams, "max-streams", f.MaxStreams, "maximal number of connected `streams`")
	flag.Int64Var(&f.MaxMessage, "max-message", f.MaxMessage, "maximal size of a WebSocket message in `bytes`")
	flag.DurationVar(&f.Idle, "idle", f.Idle, "`time` without audio after which a stream is disconnected")
	flag.DurationVar(&f.Slow, "slow", f.Slow, "`time` within which a client must read a line")
	flag.DurationVar(&f.Grace, "grace", f.Grace, "longest `time` that a shutdown takes")
	flag.Func("token-file", "`file` with a token that clients must send as Authorization: Bearer TOKEN", func(name string) error {
		b, err := os.ReadFile(name)
		if f.Token = strings.TrimSpace(string(b)); f.Token == "" && err == nil {
			err = errors.New("the file is empty")
		}
		return err
	})
	add := func(list *[]string) func(string) error {
		return func(v string) error {
			*list = append(*list, v)
			return nil
		}
	}
	flag.Func("host", "`name` of this server in a request's Host header, in addition to localhost and IP addresses; may be repeated", add(&f.Hosts))
	flag.Func("origin", "`origin` whose pages may send audio, such as https://app.example; may be repeated", add(&f.Origins))
}

func main() {
	var f flags
	f.register()
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "s4d-fast-serve: argument %q: expected only flags; -help lists them\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := level.Set(""); err != nil {
		fmt.Fprintln(os.Stderr, "s4d-fast-serve:", err)
		os.Exit(2)
	}
	if err := run(f); err != nil {
		o, invalid := errors.AsType[*service.OptionError](err)
		if invalid && o.Option != "" {
			err = fmt.Errorf("-%s %w", flagName(o.Option), o.Err)
		}
		fmt.Fprintln(os.Stderr, "s4d-fast-serve:", err)
		if invalid {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// flagName returns the name of the flag for a field of service.Options.
func flagName(option string) string {
	if option == "Origins" {
		return "origin" // a flag has one
	}
	return strings.ToLower(regexp.MustCompile("([a-z])([A-Z])").ReplaceAllString(option, "$1-$2"))
}

// stopSignals returns the signals that end the program. If the program was started with SIGHUP
// ignored, as by nohup, SIGHUP is not among them. Otherwise SIGHUP is handled until the process
// ends, also after the context of these signals has stopped.
func stopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// run serves until SIGTERM, SIGHUP or Ctrl-C. A second SIGTERM or Ctrl-C ends the process at once.
// A second SIGHUP does not: a terminal that is closed often sends two, one from the kernel and one
// from the shell.
func run(f flags) error {
	load := model.Load
	if pretrained.Has(f.model) {
		load = pretrained.Load
	}
	m, err := load(f.model)
	if err != nil {
		return err
	}
	detect := events.DefaultsFor(m)
	for _, apply := range f.detect {
		apply(&detect)
	}
	metrics := newMetrics(m.Meta.Labels)
	f.Model, f.Log, f.Metrics = f.model, slog.Default(), metrics.hooks()
	if host, _, err := net.SplitHostPort(f.listen); err == nil && host != "" {
		f.Hosts = append(f.Hosts, host)
	}
	closeStore, err := f.openStore()
	if err != nil {
		return err
	}
	defer closeStore()
	s, err := service.New(m, detect, f.Options)
	if err != nil {
		return err
	}
	metrics.observe(s)
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	if f.metrics != "" {
		l, err := net.Listen("tcp", f.metrics)
		if err != nil {
			return err
		}
		f.Log.Info("serving metrics", "address", l.Addr().String())
		go func() { f.Log.Error("metrics", "error", metrics.serve(l)) }()
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, func() {
		stop() // restores the default action of all but SIGHUP
		f.Log.Info("shutting down", "grace", f.Grace)
	})
	f.Log.Info("listening", "address", l.Addr().String(), "model", f.model, "stream_bytes", s.Stats().StreamBytes)
	return s.Serve(ctx, l)
}

// openStore sets the store of the snapshots, if the flags select one, and returns a function that
// closes it.
func (f *flags) openStore() (closeStore func(), err error) {
	switch {
	case f.snapshots != "" && f.nats != "":
		return nil, &service.OptionError{Option: "Nats", Err: errors.New("cannot be combined with -snapshots")}
	case f.snapshots != "":
		folder, err := service.OpenFolder(f.snapshots, f.maxStore)
		if err != nil {
			return nil, fmt.Errorf("-snapshots: %w", err)
		}
		f.Store = folder
		return func() { folder.Close() }, nil
	case f.nats != "":
		// NATS keeps a mark of each stream that the service has deleted until this age.
		b, err := openBucket(f.nats, f.credentials, f.bucket, 2*f.Keep)
		if err != nil {
			return nil, fmt.Errorf("-nats: %w", err)
		}
		f.Store = b
		return b.close, nil
	}
	return func() {}, nil
}
