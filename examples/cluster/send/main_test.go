package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/member"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/wire"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// The command prints the lines of the audio that it reads.
func TestSend(t *testing.T) {
	ctx, b := clustertest.Context(t), clustertest.Start(t)
	m := must.Get(tonemodel.NewFramewise())(t)
	r := must.Get(events.New(m, events.DefaultsFor(m)))(t)
	cfg := member.Config{Recognizer: r, JetStream: wire.Defaults(), Interval: 1e8, MaxLag: 1e9, Log: slog.New(slog.DiscardHandler)}
	one := must.Get(member.New(ctx, b.Connect(), cfg))(t)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- one.Run(running) }()
	defer func() { stop(); must.Do(t, <-done) }()

	var pcm, out bytes.Buffer
	for _, v := range tonemodel.Words().Samples {
		pcm.Write([]byte{byte(int16(v * (1 << 15))), byte(int16(v*(1<<15)) >> 8)})
	}
	o := options{url: b.URL(), rate: tonemodel.SampleRate}
	interrupt := make(chan struct{})
	send := func(stream string, r io.Reader) error {
		out.Reset()
		return run(ctx, interrupt, o, stream, r, &out)
	}
	must.Do(t, send("mic", bytes.NewReader(pcm.Bytes())))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	must.Equal(t, len(lines), 8, "lines, of seven tones and the end, in %s", out.String())
	if !strings.HasPrefix(lines[7], `{"type":"end","samples":63999,`) {
		t.Errorf("last line %s", lines[7])
	}

	must.Fail(t, send("mic2", strings.NewReader("abc")), "ends within a sample")
	failure := errors.New("unplugged")
	must.Fail(t, send("mic3", iotest.ErrReader(failure)), failure)
	must.Fail(t, send("a.b", &pcm), "stream name")
	must.Fail(t, send("mic", &pcm), "stream mic: the name was used within the last 1h0m0s")

	for _, rate := range []float64{-8000, 0, 9, 81870, math.NaN()} {
		o.rate = rate
		if err := send("mic", &pcm); !errors.As(err, &usageError{}) {
			t.Errorf("-rate %g: error %v, expected a usage error", rate, err)
		}
	}
	must.Fail(t, send("mic", &pcm), "-rate NaN: expected 10 to 81860")
	o.rate = tonemodel.SampleRate

	audio, w := io.Pipe() // a microphone, which has no end
	go func() {
		w.Write(pcm.Bytes())
		close(interrupt)
	}()
	must.Do(t, send("mic4", audio))
	lines = strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, `{"type":"end","samples":`) {
		t.Errorf("last line %s after an interrupt", last)
	}
	for _, url := range []string{"nats://me:secret@127.0.0.1:1", "nats://me:secret@127.0.0.1:x"} {
		o.url = url
		err := send("mic5", &pcm)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", url, err)
		}
	}
}
