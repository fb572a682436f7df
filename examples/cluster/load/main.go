// Command load starts a broker and members in processes of their own, publishes streams in real
// time, kills a member now and then, and compares every event with that of a detector in this
// process.
//
//	load -streams 500 -minutes 10 -kill 1m clips/*.wav
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// options are the values of the flags.
type options struct {
	broker, member, model string
	dir                   string
	port, members         int
	streams               int
	minutes, seconds      float64
	kill, interval        time.Duration
	memory                bool
}

func main() {
	var o options
	flag.StringVar(&o.broker, "broker", "./nats-server", "`program` of the broker")
	flag.StringVar(&o.member, "member", "./cluster", "`program` of a member")
	flag.StringVar(&o.model, "model", "digits", "model `file`, or the name of a built-in model")
	flag.StringVar(&o.dir, "dir", "", "`folder` for logs and the broker's files (default: a temporary one, which stays only after an error)")
	flag.IntVar(&o.port, "port", 14222, "`port` of the broker")
	flag.IntVar(&o.members, "members", 3, "`number` of members")
	flag.IntVar(&o.streams, "streams", 100, "`number` of streams")
	flag.Float64Var(&o.minutes, "minutes", 1, "`minutes` of audio per stream")
	flag.Float64Var(&o.seconds, "seconds", 5, "`seconds` of audio in the clip that is repeated")
	flag.DurationVar(&o.kill, "kill", 0, "`time` between two kills of a member, which is replaced (default: never)")
	flag.BoolVar(&o.memory, "memory", false, "the broker keeps everything in memory")
	flag.DurationVar(&o.interval, "interval", 300*time.Millisecond, "`time` between two snapshots of a stream")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

const (
	maxMinutes = 7 * 24 * 60
	maxSeconds = 3600 // of a clip
)

func run(ctx context.Context, o options, files []string) (err error) {
	switch {
	case o.members < 1:
		return fmt.Errorf("-members %d: expected at least 1", o.members)
	case o.streams < 1:
		return fmt.Errorf("-streams %d: expected at least 1", o.streams)
	case !(o.minutes > 0 && o.minutes <= maxMinutes): // or NaN
		return fmt.Errorf("-minutes %g: expected more than 0, at most %d", o.minutes, maxMinutes)
	case !(o.seconds >= chunkDuration.Seconds() && o.seconds <= maxSeconds):
		return fmt.Errorf("-seconds %g: expected %g to %d", o.seconds, chunkDuration.Seconds(), maxSeconds)
	case o.kill < 0:
		return fmt.Errorf("-kill %v: expected at least 0", o.kill)
	}
	if err := level.Set(""); err != nil {
		return err
	}
	r, err := recognizerOf(o.model)
	if err != nil {
		return err
	}
	scripts, err := scriptsOf(r, files, o.seconds, int(o.minutes*60*float64(time.Second/chunkDuration)))
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "load"); err != nil {
			return err
		}
		defer func() { // after the fleet has ended; the logs of a failure stay
			if err == nil {
				err = os.RemoveAll(o.dir)
			}
		}()
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	f, err := startFleet(ctx, o)
	if err != nil {
		return err
	}
	defer f.close()
	nc, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", o.port))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	l := &load{js: js, scripts: scripts, streams: o.streams, realTime: true, spread: 5 * time.Second, patience: 30 * time.Second}
	w := watch(ctx, f, l, o)
	err = l.run(ctx)
	w()
	_, printed := fmt.Println(l)
	if err = errors.Join(err, l.err(), printed); err != nil {
		return fmt.Errorf("%w; the logs are in %s", err, o.dir)
	}
	return nil
}

func recognizerOf(name string) (*events.Recognizer, error) {
	load := model.Load
	if pretrained.Has(name) {
		load = pretrained.Load
	}
	m, err := load(name)
	if err != nil {
		return nil, err
	}
	return events.New(m, events.DefaultsFor(m))
}

// startFleet starts the broker and the members.
func startFleet(ctx context.Context, o options) (*fleet, error) {
	url := fmt.Sprintf("nats://127.0.0.1:%d", o.port)
	f := &fleet{dir: o.dir, command: []string{o.member, "-nats", url, "-model", o.model, "-interval", o.interval.String()}}
	if o.memory {
		f.command = append(f.command, "-memory")
	}
	var err error
	f.broker, err = start(ctx, o.dir, "broker", o.broker, "-a", "127.0.0.1", "-p", fmt.Sprint(o.port), "-js", "-sd", filepath.Join(o.dir, "js"))
	if err != nil {
		return nil, err
	}
	for range o.members {
		if err := f.addMember(ctx); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

// watch kills members, and prints the cost of each process every ten seconds, until the function
// that it returns is called.
func watch(ctx context.Context, f *fleet, l *load, o options) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan bool)
	go func() {
		defer close(done)
		report := time.NewTicker(10 * time.Second)
		defer report.Stop()
		var kill <-chan time.Time
		if o.kill > 0 {
			t := time.NewTicker(o.kill)
			defer t.Stop()
			kill = t.C
		}
		self := &process{name: "load", cmd: &exec.Cmd{}}
		self.cmd.Process, _ = os.FindProcess(os.Getpid())
		began, before := time.Now(), map[*process]cost{}
		last := began
		for {
			select {
			case <-ctx.Done():
				return
			case <-kill:
				l.fault(time.Now())
				f.killOldest()
				if err := f.addMember(ctx); err != nil && ctx.Err() == nil {
					l.fail(err.Error())
				}
			case now := <-report.C:
				fmt.Printf("%4.0f s  latency: %s\n", now.Sub(began).Seconds(), l.sinceLast())
				for _, p := range append(f.list(), self) {
					c := p.cost()
					fmt.Printf("  %-9s %s\n", p.name, c.since(before[p], now.Sub(last)))
					before[p] = c
				}
				last = now
			}
		}
	}()
	return func() { cancel(); <-done }
}

// since describes the cost during a time, at whose beginning it was another one.
func (c cost) since(b cost, d time.Duration) string {
	per := func(v float64) float64 { return v / d.Seconds() }
	text := fmt.Sprintf("%5.1f %% CPU  %6.1f MB", 100*per((c.cpu-b.cpu).Seconds()), float64(c.resident)/1e6)
	if c.sent == 0 {
		return text
	}
	return text + fmt.Sprintf("  %4d streams  received %5.2f MB/s  sent %5.2f MB/s  model %5.1f %%  %5.0f snapshots/s",
		c.streams, per(c.received-b.received)/1e6, per(c.sent-b.sent)/1e6, 100*per(c.busy-b.busy), per(c.snapshots-b.snapshots))
}
