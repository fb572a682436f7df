// Command send publishes audio from standard input as a stream of the cluster, and prints its
// lines. The audio is raw samples of one channel, s16le, at the model's sampling rate.
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
)

func main() {
	url := flag.String("nats", nats.DefaultURL, "`URL` of NATS; several are separated by commas")
	rate := flag.Float64("rate", 8000, "sampling `rate` in Hz; it must be the model's")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "send: expected the name of the stream")
		os.Exit(2)
	}
	if err := run(context.Background(), *url, flag.Arg(0), *rate, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "send:", err)
		os.Exit(1)
	}
}

// run publishes r and writes the lines of the stream to w, up to the last one.
func run(ctx context.Context, url, stream string, rate float64, r io.Reader, w io.Writer) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	p, err := wire.NewPublisher(ctx, js, stream, rate)
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
		if err := publish(ctx, p, r, int(rate/10)); err != nil {
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

// publish sends chunks of a number of samples, and the end.
func publish(ctx context.Context, p *wire.Publisher, r io.Reader, samples int) error {
	b := make([]byte, 2*samples)
	for {
		n, err := io.ReadFull(r, b)
		if n%2 != 0 {
			return errors.New("the audio ends within a sample, expected s16le")
		}
		if n > 0 {
			if err := p.Send(ctx, b[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return p.End(ctx)
		case err != nil:
			return err
		}
	}
}
