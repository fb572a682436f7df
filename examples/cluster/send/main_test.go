package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
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
	must.Do(t, run(ctx, b.URL(), "mic", tonemodel.SampleRate, &pcm, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	must.Equal(t, len(lines), 8, "lines, of seven tones and the end, in %s", out.String())
	if !strings.HasPrefix(lines[7], `{"type":"end","samples":63999,`) {
		t.Errorf("last line %s", lines[7])
	}

	must.Fail(t, run(ctx, b.URL(), "mic2", tonemodel.SampleRate, strings.NewReader("abc"), &out), "ends within a sample")
	failure := errors.New("unplugged")
	must.Fail(t, run(ctx, b.URL(), "mic3", tonemodel.SampleRate, iotest.ErrReader(failure), &out), failure)
	must.Fail(t, run(ctx, b.URL(), "a.b", tonemodel.SampleRate, &pcm, &out), "stream name")
	must.Fail(t, run(ctx, "nats://127.0.0.1:1", "mic4", tonemodel.SampleRate, &pcm, &out), "nats://127.0.0.1:1")
}
