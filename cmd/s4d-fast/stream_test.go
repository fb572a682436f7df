package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/report"
)

// frames returns the frames of a stream's output.
func frames(t *testing.T, stdout string) (list []report.Frame) {
	t.Helper()
	for _, line := range reporttest.Lines(t, stdout) {
		var f report.Frame
		if decode(t, line, &f); f.Type == "frame" {
			list = append(list, f)
		}
	}
	return list
}

// lines checks every line of a stream's output against the schema and returns its events and its
// last line.
func lines(t *testing.T, stdout string) (found []report.Event, end report.End) {
	t.Helper()
	all := reporttest.Lines(t, stdout)
	for i, line := range all {
		var v struct{ Type string }
		decode(t, line, &v)
		kind := v.Type
		if (i == 0) != (kind == "start") {
			t.Errorf("line 1 and no other is a start line; line %d of %d is of type %q", i+1, len(all), kind)
		}
		if (i == len(all)-1) != (kind == "end") {
			t.Errorf("the last line and no other is an end line; line %d of %d is of type %q", i+1, len(all), kind)
		}
		if kind == "event" {
			var e report.Event
			decode(t, line, &e)
			found = append(found, e)
		}
	}
	decode(t, all[len(all)-1], &end)
	return found, end
}

// toneModel saves a model that recognises two tones and labels the frames of a filter bank, with
// changes.
func toneModel(t *testing.T, changes ...func(m *model.Model)) string {
	t.Helper()
	m := must.Get(tonemodel.New())(t)
	for _, change := range changes {
		change(m)
	}
	path := filepath.Join(t.TempDir(), "tones.safetensors")
	must.Do(t, m.Save(path))
	return path
}

// encoded returns samples as 16 bit.
func encoded(samples []float32, order binary.AppendByteOrder) (b []byte) {
	for _, v := range samples {
		b = order.AppendUint16(b, uint16(int16(v*32768)))
	}
	return b
}

// checkTones checks that the events are the sound's tones, to 0.1 s; scale is input samples per
// sample of the sound.
func checkTones(t *testing.T, found []report.Event, s *tonemodel.Sound, scale float64) {
	t.Helper()
	if len(found) != len(s.Tones) {
		t.Fatalf("events %+v, expected %+v", found, s.Tones)
	}
	for i, e := range found {
		tone := s.Tones[i]
		must.Equal(t, e.Label, tone.Label, "event %d", i)
		for name, pair := range map[string][2]int64{"onset": {e.Onset, tone.Onset}, "end": {e.End, tone.End}} {
			if math.Abs(float64(pair[0])-float64(pair[1])*scale) > 0.1*tonemodel.SampleRate*scale {
				t.Errorf("event %d: %s at sample %d, expected %d·%g", i, name, pair[0], pair[1], scale)
			}
		}
	}
}

// Every format of input gives the tones; every line is valid under the schema.
func TestStreamEvents(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	var want string
	for _, format := range []string{"s16le", "s16be", "f32le", "wav"} {
		var in []byte
		switch format {
		case "s16le":
			in = encoded(s.Samples, binary.LittleEndian)
		case "s16be":
			in = encoded(s.Samples, binary.BigEndian)
		case "f32le":
			for _, v := range s.Samples {
				in = binary.LittleEndian.AppendUint32(in, math.Float32bits(float32(int16(v*32768))/32768))
			}
		case "wav":
			var b bytes.Buffer
			must.Do(t, audio.WriteWAV(&b, tonemodel.SampleRate, s.Samples))
			in = b.Bytes()
		}
		code, stdout, stderr := invoke(bytes.NewReader(in), "stream", m, "--format", format)
		if code != exitOK {
			t.Fatalf("%s: exit code %d: %s", format, code, stderr)
		}
		found, end := lines(t, stdout)
		checkTones(t, found, s, 1)
		must.Equal(t, end.Samples, int64(len(s.Samples)), "%s: samples in the end line", format)
		must.Equal(t, end.Dropped, 0, "%s: samples dropped of a source that waits", format)
		must.Equal(t, end.Seconds, float64(len(s.Samples))/tonemodel.SampleRate, "%s: seconds", format)
		b := end.Block
		must.Equal(t, b.Samples, 80, "%s: samples of a block", format)
		if !(b.P50 > 0 && b.P50 <= b.P99 && b.P99 <= b.Max) {
			t.Errorf("%s: the quantiles of a block's time are not in order: %+v", format, b)
		}
		if format == "s16le" {
			want = fmt.Sprint(found)
		} else if format != "wav" && fmt.Sprint(found) != want { // audio.WriteWAV rounds
			t.Errorf("%s: events %v, s16le gives %v", format, found, want)
		}
	}
}

// twice writes a sound at twice the tone model's rate.
func twice(t *testing.T, s *tonemodel.Sound) (path string) {
	t.Helper()
	samples := make([]float32, 2*len(s.Samples))
	for i, v := range s.Samples {
		next := s.Samples[min(i+1, len(s.Samples)-1)]
		samples[2*i], samples[2*i+1] = v, (v+next)/2
	}
	return recorded(t, 2*tonemodel.SampleRate, samples)
}

// Audio at another rate than the model's is an error that states both rates, unless it is
// resampled. Lines count the input's samples.
func TestStreamRates(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	path, n := twice(t, s), 2*len(s.Samples)
	checkRun(t, nil, []string{"stream", m, path}, exitBadInput, path, "16000 Hz", "8000 Hz", "--resample")
	stdout := ok(t, "stream", m, path, "--resample")
	found, end := lines(t, stdout)
	checkTones(t, found, s, 2)
	must.Equal(t, end.Samples, int64(n), "samples in the end line")
	var start report.Start
	decode(t, strings.SplitN(stdout, "\n", 2)[0], &start)
	must.Equal(t, [2]float64{start.SampleRate, start.ModelSampleRate}, [2]float64{2 * tonemodel.SampleRate, tonemodel.SampleRate}, "rates in the start line")
	frames := ok(t, "stream", m, path, "--resample", "--emit", "frames", "--hop", "4000")
	if _, end := lines(t, frames); end.Samples != int64(n) {
		t.Errorf("frames of resampled audio: the end line counts %d samples, expected %d", end.Samples, n)
	}
	if !strings.Contains(frames, `"sample":8000,`) {
		t.Errorf("no frame of resampled audio at sample 8000 of the input: %s", frames)
	}
	fraction := must.Get(model.Load(digitsModel(t)))(t)
	fraction.Meta.SampleRate = 16000. / 3 // as of every third sample
	m = filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, fraction.Save(m))
	checkRun(t, nil, []string{"stream", m, path, "--resample", "--emit", "frames"}, exitBadInput, path, "Hz, expected a whole number")
}

// With --live a source is never blocked; dropped samples are counted, and times stay right.
func TestStreamLive(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	in := encoded(s.Samples, binary.LittleEndian)
	half := len(in) / 2 / 160 * 160
	synctest.Test(t, func(t *testing.T) {
		var stdout bytes.Buffer
		release := make(chan struct{})
		slow := writerFunc(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte(`"event"`)) {
				<-release
			}
			return stdout.Write(p)
		})
		pipe, source := io.Pipe()
		done := make(chan int, 1)
		go func() {
			done <- run(t.Context(), []string{"stream", m, "--format", "s16le", "--live"}, streams{in: pipe, out: slow, err: io.Discard})
		}()
		for at := 0; at < len(in); at += 160 {
			must.Get(source.Write(in[at:min(at+160, len(in))]))(t)
			if at == half { // until here nobody took the line of the first event
				close(release)
			}
			synctest.Wait()
		}
		source.Close()
		if code := <-done; code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		found, end := lines(t, stdout.String())
		must.Equal(t, end.Samples, int64(len(s.Samples)), "samples in the end line")
		if end.Dropped <= 0 {
			t.Error("nothing was dropped while the output was blocked")
		}
		if end.Dropped > int64(half/2) {
			t.Errorf("%d samples dropped, more than the %d of the first half", end.Dropped, half/2)
		}
		if len(found) < 2 {
			t.Fatalf("%d events, expected at least 2", len(found))
		}
		last, tone := found[len(found)-1], s.Tones[len(s.Tones)-1]
		must.Equal(t, last.Label, tone.Label, "the last event")
		if math.Abs(float64(last.Onset-tone.Onset)) > 0.05*tonemodel.SampleRate {
			t.Errorf("the last event begins at sample %d, expected %d", last.Onset, tone.Onset)
		}
	})
	checkRun(t, nil, []string{"stream", m, clip(t, 8000, 100), "--live"}, exitUsage, "--live")
}

// Without a model the built-in one is used; a single argument may be the audio.
func TestStreamBuiltIn(t *testing.T) {
	recording := clip(t, 8000, 4000)
	for _, args := range [][]string{{"stream", recording}, {"stream", "digits", recording}} {
		stdout := ok(t, args...)
		var start report.Start
		decode(t, strings.SplitN(stdout, "\n", 2)[0], &start)
		must.Equal(t, start.Model, "digits", "%v: model", args)
		must.Equal(t, start.SampleRate, 8000, "%v: rate in Hz", args)
		must.Equal(t, len(start.Labels), 11, "%v: number of labels, %q", args, start.Labels)
		lines(t, stdout)
	}
	code, stdout, stderr := invoke(bytes.NewReader(make([]byte, 16000)), "stream", "--format", "s16le")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	found, end := lines(t, stdout)
	must.Equal(t, len(found), 0, "events in silence: %+v", found)
	must.Equal(t, end.Samples, 8000, "samples in the end line")
}

// An event line is written as soon as its event has ended, not when the stream ends.
func TestStreamPrintsAtOnce(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	in := encoded(s.Samples, binary.LittleEndian)
	r, w := io.Pipe()
	out, printed := io.Pipe()
	go func() {
		run(t.Context(), []string{"stream", m, "--format", "s16le"}, streams{in: r, out: printed, err: os.Stderr})
		printed.Close()
	}()
	dec := json.NewDecoder(out)
	var line report.Event
	must.Do(t, dec.Decode(&line))
	if line.Type != "start" {
		t.Fatalf("the first line is of type %q", line.Type)
	}
	go w.Write(in[:2*(s.Tones[0].End+tonemodel.SampleRate*3/10)]) // and nothing more
	must.Do(t, dec.Decode(&line))
	must.Equal(t, line.Label, s.Tones[0].Label, "label of event %+v", line)
	w.Close()
	io.Copy(io.Discard, out)
}
