// Command cluster is one of several services that share streams of audio over NATS. README.md
// describes the protocol.
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

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/member"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// settings are the values of the flags.
type settings struct {
	url, credentials, metrics, model string
	wait                             time.Duration // for NATS
	member                           member.Config
}

// usageError is an error in the value of a flag.
type usageError struct{ error }

func main() {
	s := settings{member: member.Config{Log: slog.Default()}}
	flag.StringVar(&s.url, "nats", nats.DefaultURL, "`URL` of NATS; several are separated by commas")
	flag.StringVar(&s.credentials, "credentials", "", "`file` with the credentials of a NATS user (default: none)")
	flag.DurationVar(&s.wait, "wait", 10*time.Second, "`time` to wait for NATS at the start")
	flag.StringVar(&s.metrics, "metrics", "localhost:0", "`address` of the page for Prometheus; port 0 selects a free port")
	flag.StringVar(&s.model, "model", "digits", "model `file`, or the name of a built-in model")
	flag.DurationVar(&s.member.Interval, "interval", 300*time.Millisecond, "`time` between two snapshots of a stream")
	flag.DurationVar(&s.member.MaxLag, "max-lag", 100*time.Millisecond, "mean `delay` of the audio above which streams are released")
	flag.IntVar(&s.member.Processors, "processors", 0, "`number` of blocks that are processed at a time (default: one per processor)")
	o, d := &s.member.JetStream, wire.Defaults()
	of := func(v any) string { return fmt.Sprintf(" (default: as the cluster has it, at first %v)", v) }
	flag.DurationVar(&o.Lease, "lease", 0, "`time` without a sign of life after which a member loses its streams"+of(d.Lease))
	flag.DurationVar(&o.KeepAudio, "keep-audio", 0, "`age` at which audio is deleted, and a stream without audio ends"+of(d.KeepAudio))
	flag.DurationVar(&o.KeepLines, "keep-lines", 0, "`age` at which lines and abandoned snapshots are deleted"+of(d.KeepLines))
	flag.BoolVar(&o.Memory, "memory", false, "keep audio, lines and snapshots in the memory of the brokers, not in files")
	flag.IntVar(&o.Replicas, "replicas", 0, "`number` of brokers that keep a copy"+of(d.Replicas))
	flag.Int64Var(&o.Streams, "max-streams", 0, "maximal number of `streams` in progress in the cluster; more are rejected"+of(d.Streams))
	flag.Int64Var(&o.Audio, "max-audio", 0, "maximal size of the audio in JetStream in `bytes`; the oldest is deleted"+of(d.Audio))
	flag.Parse()
	if err := run(notifyContext(), s); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		if errors.As(err, &usageError{}) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// notifyContext returns a context that ends with Ctrl-C, SIGTERM or SIGHUP, unless the process
// ignores SIGHUP because nohup has started it. A second Ctrl-C or SIGTERM ends the process at once.
// A second SIGHUP does not: a terminal that is closed often sends two, one from the kernel and one
// from the shell.
func notifyContext() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // handled until the process ends, also after Stop
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-c
		signal.Stop(c) // restores the default action of all but SIGHUP
		cancel()
	}()
	return ctx
}

// validate checks the settings. Options of the cluster that are 0 count as the defaults.
func (s *settings) validate() error {
	o := s.member.JetStream.Or(wire.Defaults())
	for _, v := range []struct {
		name     string
		value    time.Duration
		at, most time.Duration
	}{
		{"interval", s.member.Interval, 10 * time.Millisecond, o.KeepAudio / 4},
		{"max-lag", s.member.MaxLag, time.Millisecond, time.Hour},
		{"lease", o.Lease, 100 * time.Millisecond, o.KeepAudio / 4},
		{"keep-audio", o.KeepAudio, time.Second, 24 * time.Hour},
		{"keep-lines", o.KeepLines, o.KeepAudio, 10000 * time.Hour},
	} {
		if v.value < v.at || v.value > v.most {
			return fmt.Errorf("-%s %v: expected %v to %v", v.name, v.value, v.at, v.most)
		}
	}
	if o.Replicas < 1 || o.Replicas > 5 {
		return fmt.Errorf("-replicas %d: expected 1 to 5", o.Replicas)
	}
	if o.Streams < 1 || o.Audio < 1<<20 {
		return fmt.Errorf("-max-streams %d, -max-audio %d: expected at least 1 and %d", o.Streams, o.Audio, 1<<20)
	}
	if s.member.Processors < 0 {
		return fmt.Errorf("-processors %d: expected at least 0", s.member.Processors)
	}
	return nil
}

// run serves streams until ctx ends.
func run(ctx context.Context, s settings) error {
	if err := errors.Join(s.validate(), level.Set("")); err != nil {
		return usageError{err}
	}
	m, err := loadModel(s.model)
	if err != nil {
		return err
	}
	if s.member.Recognizer, err = events.New(m, events.DefaultsFor(m)); err != nil {
		return usageError{err}
	}
	s.member.Labels = m.Meta.Labels
	nc, err := connect(ctx, s)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer nc.Close()
	mem, err := member.New(ctx, nc, s.member)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	s.member.JetStream = mem.Options()
	if err := s.validate(); err != nil { // with those options
		return usageError{err}
	}
	l, err := net.Listen("tcp", s.metrics)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", mem.Metrics())
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	go h.Serve(l)
	defer h.Close()
	s.member.Log.Info("serving", "member", mem.ID(), "nats", nc.ConnectedUrlRedacted(), "metrics", l.Addr().String(),
		"model", s.model, "level", level.Current())
	return mem.Run(ctx)
}

// unlessStopped returns nil in place of the error of a member that a signal has ended before it
// served.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// connect connects to NATS, which may start at the same time. A lost connection is restored in the
// background.
func connect(ctx context.Context, s settings) (*nats.Conn, error) {
	log := s.member.Log
	opt := []nats.Option{
		nats.Name("s4d-fast cluster"), nats.MaxReconnects(-1), nats.ReconnectWait(retry),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(3),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn("NATS is disconnected", "error", err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("NATS is connected again", "nats", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS", "error", err) }),
	}
	for end := time.Now().Add(s.wait); ; {
		nc, err := wire.Connect(s.url, s.credentials, opt...)
		if !errors.Is(err, nats.ErrNoServers) || !time.Now().Before(end) {
			return nc, err
		}
		log.Info("waiting for NATS", "error", err)
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// retry is the time between two attempts to connect.
const retry = 250 * time.Millisecond

func loadModel(path string) (*model.Model, error) {
	if pretrained.Has(path) {
		return pretrained.Load(path)
	}
	return model.Load(path)
}
