//go:build unix

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/netns"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// Numbers without sense, and clips in which nothing would be tested, are errors. The temporary
// folder stays only after an error.
func TestRun(t *testing.T) {
	program, model := build(t)
	dir, temporary, ctx := t.TempDir(), t.TempDir(), clustertest.Context(t)
	t.Setenv("TMPDIR", temporary)
	wav := func(name string, x []float32) string {
		path := filepath.Join(dir, name)
		must.Do(t, audio.WriteWAVFile(path, tonemodel.SampleRate, x))
		return path
	}
	words, silence := wav("words.wav", tonemodel.Words().Samples), wav("silence.wav", make([]float32, 8000))
	broker := filepath.Join(dir, "broker")
	command := clustertest.Command(`127.0.0.1:"$4"`, `"$7"`) // of nats-server -a 127.0.0.1 -p PORT -js -sd DIR
	must.Do(t, os.WriteFile(broker, []byte("#!/bin/sh\nexec "+strings.Join(command, " ")+"\n"), 0o777))

	good := options{broker: broker, member: program, model: model, port: netns.FreePort(t), members: 1, streams: 1, minutes: 0.1, seconds: 30, interval: 50 * time.Millisecond}
	for want, change := range map[string]func(o *options){
		"-minutes NaN":   func(o *options) { o.minutes = math.NaN() },
		"-minutes +Inf":  func(o *options) { o.minutes = math.Inf(1) },
		"-minutes 0":     func(o *options) { o.minutes = 0 },
		"-seconds NaN":   func(o *options) { o.seconds = math.NaN() },
		"-seconds -1":    func(o *options) { o.seconds = -1 },
		"-seconds 1e+12": func(o *options) { o.seconds = 1e12 },
	} {
		o := good
		change(&o)
		must.Fail(t, run(ctx, o, []string{words}), want)
	}
	must.Fail(t, run(ctx, good, []string{silence}), "no event")
	must.Do(t, run(ctx, good, []string{words}))
	must.Equal(t, fmt.Sprint(must.Get(os.ReadDir(temporary))(t)), "[]", "temporary files")
	good.broker = silence
	must.Fail(t, run(ctx, good, []string{words}), silence)
	must.Equal(t, len(must.Get(os.ReadDir(temporary))(t)), 1, "number of temporary folders")
}
