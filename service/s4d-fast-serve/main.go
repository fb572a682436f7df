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
	"net/http"
	_ "net/http/pprof" // the profiles
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/service"
	"github.com/s4d-fast/s4d-fast/service/requests"
	"github.com/s4d-fast/s4d-fast/service/wyoming"
)

type flags struct {
	service.Options
	listen, wyoming, metrics, model      string
	snapshots, nats, credentials, bucket string
	threshold                            float64 // 0: that of the model
	noFFmpeg                             bool
}

func (f *flags) register() {
	f.Options = service.Defaults()
	flag.StringVar(&f.listen, "listen", "localhost:8080", "`address` to listen on; port 0 selects a free port")
	flag.StringVar(&f.wyoming, "wyoming", "", "`address`, such as :10400, on which to detect wake words for voice assistants over the Wyoming protocol (default: none)")
	flag.StringVar(&f.metrics, "metrics", "", "`address` on which to serve Prometheus metrics and Go's profiles (default: they are not served)")
	flag.StringVar(&f.model, "model", "digits", "model `file` of a detector, of a classifier of clips or of rows, or the name of a built-in model")
	flag.Float64Var(&f.threshold, "threshold", 0, "`posterior` that starts an event; the event ends below half of it (default: the model's, from its calibration, or 0.5)")
	flag.StringVar(&f.snapshots, "snapshots", "", "`folder` where streams are saved (default: they are not saved)")
	flag.StringVar(&f.nats, "nats", "", "`URL` of NATS, where streams are saved in place of -snapshots; several URLs are separated by commas")
	flag.StringVar(&f.credentials, "nats-creds", "", "`file` with the credentials of a NATS user (default: none)")
	flag.StringVar(&f.bucket, "bucket", "s4d-streams", "`name` of the key-value bucket in NATS; it is created if it does not exist")
	flag.DurationVar(&f.Keep, "keep", f.Keep, "`time` after which a saved stream is deleted")
	flag.DurationVar(&f.SaveEvery, "save-every", f.SaveEvery, "`time` between snapshots of a connected stream")
	flag.IntVar(&f.MaxStreams, "max-streams", f.MaxStreams, "maximal number of connected `streams`")
	flag.Int64Var(&f.MaxMessage, "max-message", f.MaxMessage, "maximal size of a WebSocket message in `bytes`")
	flag.DurationVar(&f.Idle, "idle", f.Idle, "`time` without audio after which a stream is disconnected")
	flag.BoolVar(&f.noFFmpeg, "no-ffmpeg", false, "do not decode other formats, such as Opus, M4A and WebM, with ffmpeg, if it is installed")
	flag.DurationVar(&f.Slow, "slow", f.Slow, "`time` within which a client must read a line")
	flag.DurationVar(&f.Grace, "grace", f.Grace, "longest `time` that a shutdown takes")
	flag.Func("token-file", "`file` with a token that clients must send as Authorization: Bearer TOKEN", func(name string) error {
		b, err := os.ReadFile(name)
		if f.Token = strings.TrimSpace(string(b)); f.Token == "" && err == nil {
			err = errors.New("the file is empty")
		}
		return err
	})
	flag.Func("host", "`name` of this server in a request's Host header, in addition to localhost and IP addresses; may be repeated",
		func(v string) error { f.Hosts = append(f.Hosts, v); return nil })
	flag.Func("origin", "`origin` whose pages may send audio, such as https://app.example; may be repeated",
		func(v string) error { f.Origins = append(f.Origins, v); return nil })
}

func main() {
	var f flags
	f.register()
	flag.Parse()
	err, code := level.Set(""), program.Usage
	if flag.NArg() > 0 {
		err = fmt.Errorf("argument %q: expected only flags; -help lists them", flag.Arg(0))
	} else if err == nil {
		err, code = run(f), program.Failed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "s4d-fast-serve:", err)
		os.Exit(code)
	}
}

// run serves until SIGTERM, SIGHUP or Ctrl-C.
func run(f flags) error {
	m, err := pretrained.Open(f.model)
	if err != nil {
		return err
	}
	detect := events.DefaultsFor(m)
	if f.threshold != 0 {
		detect = detect.WithThreshold(f.threshold)
	}
	f.Model, f.FFmpeg = f.model, !f.noFFmpeg
	f.Log, f.Metrics = slog.Default(), metrics(m.Meta.Labels)
	if host, _, err := net.SplitHostPort(f.listen); err == nil && host != "" {
		f.Hosts = append(f.Hosts, host)
	}
	if err := f.openStore(); err != nil {
		return err
	}
	f.Requests, err = requests.Handlers(m, detect, f.Options)
	if err != nil {
		f.Log.Info("neither /v1/classify nor /v1/rows is served", "why", err)
	}
	s, err := service.New(m, detect, f.Options)
	if err != nil {
		return err
	}
	observe(s)
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
		http.Handle("GET /metrics", promhttp.Handler())
		go func() { f.Log.Error("metrics", "error", (&http.Server{ReadHeaderTimeout: 10 * time.Second}).Serve(l)) }()
	}
	ctx := program.Context()
	if f.wyoming != "" {
		l, err := net.Listen("tcp", f.wyoming)
		if err != nil {
			return err
		}
		w := wyoming.Server{Detect: detect, Model: m, Name: f.model, MaxClients: f.MaxStreams, Idle: f.Idle, Log: f.Log}
		f.Log.Info("detecting wake words over Wyoming", "address", l.Addr().String())
		go func() { f.Log.Info("wyoming: ended", "error", w.Serve(ctx, l)) }()
	}
	context.AfterFunc(ctx, func() { f.Log.Info("shutting down", "grace", f.Grace) })
	f.Log.Info("listening", "address", l.Addr().String(), "model", f.model, "stream_bytes", s.Stats().StreamBytes)
	return s.Serve(ctx, l)
}

// openStore sets the store of the snapshots, if the flags select one. The end of the process closes
// it.
func (f *flags) openStore() (err error) {
	switch {
	case f.snapshots != "" && f.nats != "":
		return errors.New("-nats cannot be combined with -snapshots")
	case f.snapshots != "":
		if f.Store, err = service.OpenFolder(f.snapshots); err != nil {
			return fmt.Errorf("-snapshots: %w", err)
		}
	case f.nats != "":
		// NATS keeps a mark of each stream that the service has deleted until this age.
		if f.Store, err = openBucket(f.nats, f.credentials, f.bucket, 2*f.Keep); err != nil {
			return fmt.Errorf("-nats: %w", err)
		}
	}
	return nil
}
