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
	"time"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// However a stream's input is cut, and whatever form it comes in, the frames are the same.
func TestStreamForms(t *testing.T) {
	m, recording := digitsModel(t), clip(t, 8000, 2500)
	samples, _, err := audio.ReadWAVFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	want := posteriors(t, ok(t, "stream", m, recording, "--emit", "frames"))
	if len(want) != 4 { // at 800, 1600, 2400 and 2500 samples
		t.Fatalf("%d frames, want 4", len(want))
	}
	var raw bytes.Buffer
	for _, v := range samples {
		s := int16(v * 32768)
		raw.Write([]byte{byte(s), byte(s >> 8)})
	}
	code, stdout, stderr := invoke(&raw, "stream", m, "--format", "s16le", "--rate", "8000", "--emit", "frames")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := posteriors(t, stdout); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("raw samples give %v, the WAV file %v", got, want)
	}
}

func posteriors(t *testing.T, stdout string) (list [][]float32) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var f report.Frame
		decode(t, line, &f)
		if f.Type == "frame" {
			list = append(list, f.Posterior)
		}
	}
	return list
}

// lines checks every line of a stream's output against the schema and returns its events and its last line.
func lines(t *testing.T, stdout string) (heard []report.Event, end report.End) {
	t.Helper()
	all := reporttest.Lines(t, stdout)
	for i, line := range all {
		var v struct{ Type string }
		decode(t, line, &v)
		kind := v.Type
		if (i == 0) != (kind == "start") || (i == len(all)-1) != (kind == "end") {
			t.Errorf("line %d of %d is of type %v", i, len(all), kind)
		}
		if kind == "event" {
			var e report.Event
			decode(t, line, &e)
			heard = append(heard, e)
		}
	}
	decode(t, all[len(all)-1], &end)
	return heard, end
}

// toneModel saves a model that hears two tones.
func toneModel(t *testing.T) string {
	t.Helper()
	m, err := tonemodel.New()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tones.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// encoded returns samples as 16 bit.
func encoded(samples []float32, order binary.AppendByteOrder) (b []byte) {
	for _, v := range samples {
		b = order.AppendUint16(b, uint16(int16(v*32768)))
	}
	return b
}

// hearsTones checks that the events are the sound's tones; scale is input samples a sample of the sound.
func hearsTones(t *testing.T, heard []report.Event, s *tonemodel.Sound, scale float64) {
	t.Helper()
	if len(heard) != len(s.Tones) {
		t.Fatalf("events %+v, want %+v", heard, s.Tones)
	}
	for i, e := range heard {
		w := s.Tones[i]
		near := func(got, want int64) bool {
			return math.Abs(float64(got)-float64(want)*scale) <= 0.05*tonemodel.SampleRate*scale
		}
		if e.Label != w.Label || !near(e.Onset, w.Onset) || !near(e.End, w.End) {
			t.Errorf("event %d is %+v, want %+v times %g", i, e, w, scale)
		}
	}
}

// Every form of input gives the tones; every line fits the schema.
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
			if err := audio.WriteWAV(&b, tonemodel.SampleRate, s.Samples); err != nil {
				t.Fatal(err)
			}
			in = b.Bytes()
		}
		code, stdout, stderr := invoke(bytes.NewReader(in), "stream", m, "--format", format)
		if code != exitOK {
			t.Fatalf("%s: exit code %d: %s", format, code, stderr)
		}
		heard, end := lines(t, stdout)
		hearsTones(t, heard, s, 1)
		if end.Samples != int64(len(s.Samples)) || end.Dropped != 0 || end.Seconds != float64(len(s.Samples))/tonemodel.SampleRate {
			t.Errorf("%s: end line %+v, want %d samples", format, end, len(s.Samples))
		}
		if b := end.Block; b.Samples != 80 || !(b.P50 > 0 && b.P50 <= b.P99 && b.P99 <= b.Max) {
			t.Errorf("%s: block %+v", format, b)
		}
		if format == "s16le" {
			want = fmt.Sprint(heard)
		} else if format != "wav" && fmt.Sprint(heard) != want { // audio.WriteWAV rounds
			t.Errorf("%s: events %v, s16le gives %v", format, heard, want)
		}
	}
}

// A pipe that delivers odd numbers of bytes gives the same lines.
func TestStreamChunks(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	in := encoded(s.Samples, binary.LittleEndian)
	_, stdout, _ := invoke(bytes.NewReader(in), "stream", m, "--format", "s16le")
	want, _ := lines(t, stdout)
	for _, n := range []int{1, 3, 777} {
		_, stdout, _ := invoke(&dripping{in, n}, "stream", m, "--format", "s16le")
		if got, _ := lines(t, stdout); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d bytes at a time: %v, want %v", n, got, want)
		}
	}
}

// dripping is a reader of n bytes at a time.
type dripping struct {
	b []byte
	n int
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), d.n)], d.b)
	d.b = d.b[n:]
	return n, nil
}

// Audio at another rate is refused with both rates, or converted, or met by the model; lines count the input's samples.
func TestStreamRates(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	const rate = 2 * tonemodel.SampleRate
	twice := make([]float32, 2*len(s.Samples))
	for i, v := range s.Samples {
		next := s.Samples[min(i+1, len(s.Samples)-1)]
		twice[2*i], twice[2*i+1] = v, (v+next)/2
	}
	path := filepath.Join(t.TempDir(), "twice.wav")
	if err := audio.WriteWAVFile(path, rate, twice); err != nil {
		t.Fatal(err)
	}
	mustSay(t, nil, []string{"stream", m, path}, exitBadInput, path, "16000 Hz", "8000 Hz", "--resample", "--adapt-rate")
	for _, args := range [][]string{{"--resample"}, {"--adapt-rate"}} {
		stdout := ok(t, append([]string{"stream", m, path}, args...)...)
		heard, end := lines(t, stdout)
		hearsTones(t, heard, s, 2)
		if end.Samples != int64(len(twice)) {
			t.Errorf("%v: %d samples, want %d", args, end.Samples, len(twice))
		}
		var start report.Start
		decode(t, strings.SplitN(stdout, "\n", 2)[0], &start)
		if start.SampleRate != rate || start.ModelSampleRate != tonemodel.SampleRate {
			t.Errorf("%v: rate %v, model rate %v", args, start.SampleRate, start.ModelSampleRate)
		}
	}
	frames := ok(t, "stream", m, path, "--resample", "--emit", "frames", "--hop", "4000")
	if _, end := lines(t, frames); end.Samples != int64(len(twice)) || !strings.Contains(frames, `"sample":8000,`) {
		t.Errorf("frames of converted audio: %s", frames)
	}
	mustSay(t, nil, []string{"stream", m, path, "--resample", "--adapt-rate"}, exitUsage, "--resample", "--adapt-rate")
}

// What is lost is counted, and times stay right.
func TestStreamLive(t *testing.T) {
	m, s := toneModel(t), tonemodel.Words()
	in := encoded(s.Samples, binary.LittleEndian)
	half := len(in) / 2 / 160 * 160
	var stdout bytes.Buffer
	slow := &holding{Writer: &stdout, release: make(chan bool)}
	pipe, w := io.Pipe()
	done := make(chan int)
	go func() {
		done <- run(t.Context(), []string{"stream", m, "--format", "s16le", "--live"}, streams{in: pipe, out: slow, err: io.Discard})
	}()
	for at := 0; at < len(in); at += 160 { // nobody reads the first event's line: the pipe must not stall all the same
		if _, err := w.Write(in[at:min(at+160, len(in))]); err != nil {
			t.Fatal(err)
		}
		if at == half {
			close(slow.release)
			time.Sleep(300 * time.Millisecond) // it catches up
		}
		time.Sleep(100 * time.Microsecond)
	}
	w.Close()
	if code := <-done; code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	heard, end := lines(t, stdout.String())
	if end.Samples != int64(len(s.Samples)) || end.Dropped <= 0 || end.Dropped > int64(half/2) {
		t.Errorf("end line %+v, want %d samples, some of the first half dropped", end, len(s.Samples))
	}
	last := s.Tones[len(s.Tones)-1]
	if len(heard) < 2 || heard[len(heard)-1].Label != last.Label || math.Abs(float64(heard[len(heard)-1].Onset-last.Onset)) > 0.05*tonemodel.SampleRate {
		t.Errorf("events %+v, the last tone is %+v", heard, last)
	}
	mustSay(t, nil, []string{"stream", m, clip(t, 8000, 100), "--live"}, exitUsage, "--live")
}

// holding is a writer that blocks on the first event until it is released.
type holding struct {
	io.Writer
	release chan bool
}

func (h *holding) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"event"`)) {
		<-h.release
	}
	return h.Writer.Write(p)
}

// Nobody reads on for a listener that has gone, live or not.
func TestStreamReadsNoFurther(t *testing.T) {
	for _, live := range []bool{false, true} {
		reads := make(chan int)
		p := pump{audio: &audioInput{source: stepped(reads)}, block: 1, live: live}
		done := make(chan struct{})
		p.read(done)
		close(done)
		more := func() bool {
			select {
			case reads <- 1:
				return true
			case <-time.After(200 * time.Millisecond):
				return false
			}
		}
		for n := 0; more(); n++ {
			if n == 100 {
				t.Fatalf("live %v: it reads on", live)
			}
		}
	}
}

// stepped is a source that delivers the samples that are sent to it.
type stepped chan int

func (s stepped) Read(dst []float32) (int, error) { return <-s, nil }

// Without a model the built-in one hears; a single argument may be the audio.
func TestStreamBuiltIn(t *testing.T) {
	recording := clip(t, 8000, 4000)
	for _, args := range [][]string{{"stream", recording}, {"stream", "digits", recording}} {
		stdout := ok(t, args...)
		var start report.Start
		decode(t, strings.SplitN(stdout, "\n", 2)[0], &start)
		if start.Model != "digits" || start.SampleRate != 8000 || len(start.Labels) != 11 {
			t.Errorf("%v: start line %+v", args, start)
		}
		lines(t, stdout)
	}
	code, stdout, stderr := invoke(bytes.NewReader(make([]byte, 16000)), "stream", "--format", "s16le")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if heard, end := lines(t, stdout); len(heard) != 0 || end.Samples != 8000 {
		t.Errorf("silence gives %+v, %+v", heard, end)
	}
	if out := ok(t, "inspect", "digits"); !strings.Contains(out, "seven") && !strings.Contains(out, "labels") {
		t.Errorf("inspect digits prints %s", out)
	}
}

// An event line is written as soon as its event has ended, not when the stream does.
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
	if err := dec.Decode(&line); err != nil || line.Type != "start" {
		t.Fatalf("%+v, %v", line, err)
	}
	go w.Write(in[:2*(s.Tones[0].End+tonemodel.SampleRate*3/10)]) // and nothing more
	if err := dec.Decode(&line); err != nil || line.Label != s.Tones[0].Label {
		t.Errorf("%+v, %v; want %+v", line, err, s.Tones[0])
	}
	w.Close()
	io.Copy(io.Discard, out)
}
