// Command send publishes audio from standard input as a stream of the cluster, and prints its
// lines. The audio is raw samples of one channel, s16le, at the model's sampling rate. SIGINT and
// SIGTERM end the stream; a second signal ends the process at once.
//
//	arecord -q -t raw -f S16_LE -r 8000 -c 1 | send mic
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
)

// options are the values of the flags.
type options struct {
	url, credentials string
	rate             float64 // Hz
}

// usageError is an error in the value of a flag.
type usageError struct{ error }

// The limits of -rate: a chunk of 0.1 s has at least one sample and at most the size of a message.
const (
	minRate = 10
	maxRate = 10 * (wire.MaxChunk - wire.ChunkHeader) / 2
)

func main() {
	var o options
	flag.StringVar(&o.url, "nats", nats.DefaultURL, "`URL` of NATS; several are separated by commas")
	flag.StringVar(&o.credentials, "credentials", "", "`file` with the credentials of a NATS user (default: none)")
	flag.Float64Var(&o.rate, "rate", 8000, "sampling `rate` in Hz; it must be the model's")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "send: expected the name of the stream")
		os.Exit(2)
	}
	interrupt, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(interrupt, stop) // the second signal ends the process at once
	if err := run(context.Background(), interrupt.Done(), o, flag.Arg(0), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "send:", err)
		if errors.As(err, &usageError{}) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run publishes r until its end or until interrupt is closed, and writes the lines of the stream to
// w, up to the last one.
func run(ctx context.Context, interrupt <-chan struct{}, o options, stream string, r io.Reader, w io.Writer) error {
	if !(o.rate >= minRate && o.rate <= maxRate) { // or NaN
		return usageError{fmt.Errorf("-rate %g: expected %d to %d", o.rate, minRate, maxRate)}
	}
	nc, err := wire.Connect(o.url, o.credentials)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := checkUnused(ctx, js, stream); err != nil {
		return err
	}
	p, err := wire.NewPublisher(ctx, js, stream, o.rate)
	if err != nil {
		return err
	}
	lines, err := js.OrderedConsumer(ctx, wire.LineStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{wire.LineSubject(stream)}})
	if err != nil {
		return err
	}
	messages, err := lines.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := publish(ctx, interrupt, p, r, int(o.rate/10)); err != nil {
			cancel(err)
		}
	}()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", msg.Data()); err != nil {
			return err
		}
		if _, last, err := wire.ParseLine(msg.Headers(), msg.Data()); last || err != nil {
			return err
		}
	}
}

// checkUnused returns an error if lines of an earlier stream of the name are stored.
func checkUnused(ctx context.Context, js jetstream.JetStream, stream string) error {
	if err := wire.CheckName(stream); err != nil {
		return err
	}
	lines, err := js.Stream(ctx, wire.LineStream)
	if err != nil {
		return fmt.Errorf("%s (is a member of the cluster running?): %w", wire.LineStream, err)
	}
	_, err = lines.GetLastMsgForSubject(ctx, wire.LineSubject(stream))
	if err == nil {
		return fmt.Errorf("stream %s: the name was used within the last %v", stream, lines.CachedInfo().Config.MaxAge)
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	return nil
}

// publish sends chunks of a number of samples, and the end.
func publish(ctx context.Context, interrupt <-chan struct{}, p *wire.Publisher, r io.Reader, samples int) error {
	chunks, ended := make(chan []byte), make(chan error, 1)
	go func() { // a read may wait forever
		for {
			b := make([]byte, 2*samples)
			n, err := io.ReadFull(r, b)
			if n%2 != 0 {
				ended <- errors.New("the audio ends within a sample, expected s16le")
				return
			}
			if n > 0 {
				select {
				case chunks <- b[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for {
		select {
		case b := <-chunks:
			if err := p.Send(ctx, b); err != nil {
				return err
			}
		case err := <-ended:
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return p.End(ctx)
			}
			return err
		case <-interrupt:
			return p.End(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
