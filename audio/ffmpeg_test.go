package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Formats without a decoder of our own are read through ffmpeg, from pipes, too: the recordings of
// testdata/ffmpeg are the digit nine.
func TestFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
	for name, f := range map[string]Format{
		"memo.m4a": {16000, 1, 32, true}, "rec.webm": {48000, 1, 32, true}, "voice.opus": {48000, 1, 32, true},
		"mpeg25.mp3": {8000, 1, 32, true}, "gsm.wav": {8000, 1, 32, true}, "ima.wav": {8000, 1, 32, true},
	} {
		file := must.Get(os.ReadFile(filepath.Join("testdata/ffmpeg", name)))(t)
		must.Reject(Open(bytes.NewReader(file)))(t, "is read only through ffmpeg; convert it elsewhere: ffmpeg -i FILE -f wav -")
		r := must.Get(Options{FFmpeg: true}.Open(io.MultiReader(bytes.NewReader(file))))(t)
		must.Equal(t, r.Format, f, "%s: format", name)
		must.Equal(t, r.Container, FFmpeg, "%s: container", name)
		x := must.Get(r.ReadMono(f.SampleRate, 1<<20))(t)
		loudest := float32(0)
		for _, v := range x {
			loudest = max(loudest, v, -v)
		}
		if seconds := float64(len(x)) / float64(f.SampleRate); math.Abs(seconds-0.65) > 0.12 || loudest < 0.1 {
			t.Errorf("%s: %.3f seconds, the loudest sample is %g", name, seconds, loudest)
		}
		must.Do(t, r.Close())
		must.Reject(Options{FFmpeg: true}.Open(bytes.NewReader(file[:60])))(t, "ffmpeg")
	}
	t.Setenv("S4D_NO_FFMPEG", "1")
	must.Reject(Options{FFmpeg: true}.Open(bytes.NewReader(opus)))(t, "is read only through ffmpeg; convert it elsewhere")
}

// fakeFFmpeg puts a shell script on the PATH in place of ffmpeg.
func fakeFFmpeg(t *testing.T, script string) {
	if runtime.GOOS == "windows" {
		t.Skip("the script needs a shell")
	}
	dir := t.TempDir()
	if script != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte("#!/bin/sh\n"+script), 0o755))
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	if script == "" {
		t.Setenv("PATH", dir)
	}
}

// opus is the beginning of a file that only ffmpeg reads.
var opus = append(oggPage(oggFirst, "OpusHead\x01\x01"), make([]byte, 100)...)

// Errors of ffmpeg, of its input and of its output follow the samples before them.
func TestFFmpegErrors(t *testing.T) {
	var wav bytes.Buffer
	must.Do(t, WriteWAV(&wav, 8000, []float32{0.5, -0.5, 0.25}))
	copy(wav.Bytes()[40:], "\xff\xff\xff\xff")
	output := filepath.Join(t.TempDir(), "output.wav")
	must.Do(t, os.WriteFile(output, wav.Bytes(), 0o644))
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		script  string
		in      io.Reader
		samples int
		want    []any
	}{
		"not installed":   {"", bytes.NewReader(opus), 0, []any{"Opus in Ogg is read only through ffmpeg, which is not installed", "ffmpeg -i FILE"}},
		"an error":        {"echo first >&2; echo 'no such \x1b codec' >&2; exit 1", bytes.NewReader(opus), 0, []any{`audio: Opus in Ogg: ffmpeg: "no such \x1b codec"`}},
		"killed":          {"kill -9 $$", bytes.NewReader(opus), 0, []any{"Opus in Ogg: ffmpeg: signal: killed"}},
		"not WAV":         {"echo hello, this is no sound at all, but text of some length", bytes.NewReader(opus), 0, []any{"RIFF"}},
		"no output":       {"cat >/dev/null", bytes.NewReader(opus), 0, []any{"ends in the RIFF/WAVE header"}},
		"an error at end": {"cat " + output + "; echo it ended badly >&2; exit 3", bytes.NewReader(opus), 3, []any{"it ended badly"}},
		"of the input":    {"cat >/dev/null; cat " + output + "; echo it ended early >&2", io.MultiReader(bytes.NewReader(opus), iotest.ErrReader(broken)), 3, []any{broken}},
		"well":            {"cat " + output, bytes.NewReader(opus), 3, []any{io.EOF}},
		"much on stderr":  {"cat " + output + "; yes | head -c 3000000 >&2; exit 1", bytes.NewReader(opus), 3, []any{`ffmpeg: "y"`}},
	} {
		t.Run(name, func(t *testing.T) {
			fakeFFmpeg(t, c.script)
			r, err := Options{FFmpeg: true}.Open(c.in)
			n := 0
			for buf := make([]float32, 2); err == nil; {
				var k int
				k, err = r.Read(buf)
				n += k
			}
			must.Fail(t, err, c.want...)
			must.Equal(t, n, c.samples, "samples")
		})
	}
}

// The first bytes of a file choose the demuxer of ffmpeg.
func TestFFmpegDemuxer(t *testing.T) {
	fakeFFmpeg(t, `while [ "$1" != -f ]; do shift; done; echo "demuxer $2" >&2; exit 1`)
	for head, demuxer := range map[string]string{
		"RIFX\x00\x00\x00\x0cWAVE": "wav", "\x0b\x77\x2a\x47\x8c\x40": "ac3", "NIST_1A\n   1024\n": "nistsphere", "\x64\xa3\x01\x00\x00\x00": "ircam",
		"FORM\x00\x01\x3e\x768SVXVHDR": "iff", "2BIT\x00\x00": "avr", "MPCK\x00\x00": "mpc8", "wvpk\x00\x00": "wv",
	} {
		must.Reject(Options{FFmpeg: true}.Open(strings.NewReader(head)))(t, "demuxer "+demuxer)
	}
}

// A note tells of bytes after the end of a file that ffmpeg does not read.
func TestFFmpegJoined(t *testing.T) {
	var wav bytes.Buffer
	must.Do(t, WriteWAV(&wav, 8000, []float32{0.5, -0.5, 0.25}))
	output := filepath.Join(t.TempDir(), "output.wav")
	must.Do(t, os.WriteFile(output, wav.Bytes(), 0o644))
	fakeFFmpeg(t, "cat >/dev/null; cat "+output)
	const mp4 = "\x00\x00\x00\x10ftypM4A     \x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x14abcd"
	aiff := "FORM\x00\x00\x00\x0cAIFF" + strings.Repeat("\x00", 8)
	gsm := string(riff(chunk("fmt ", format(0x31, 1, 8000, 0)), chunk("data", make([]byte, 66))))
	for name, text := range map[string]string{"MP4": mp4, "AIFF": aiff, "WAV": gsm} {
		for _, joined := range []bool{false, true} {
			var notes []string
			file := text
			if joined {
				file += text
			}
			r := must.Get(Options{FFmpeg: true, Note: func(s string) { notes = append(notes, s) }}.Open(strings.NewReader(file)))(t)
			must.Equal(t, len(must.Get(all(r, 10))(t)), 3, "%s: samples", name)
			must.Do(t, r.Close())
			must.Equal(t, len(notes) == 1, joined, "%s, joined %t: notes %q", name, joined, notes)
		}
	}
}

// A process that has input and gives nothing is ended, with those that it has started. One that
// waits for its input is not. Close ends a process, and leaves no file.
func TestFFmpegLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for processes")
	}
	defer func(d time.Duration) { stall = d }(stall)
	stall = 200 * time.Millisecond
	fakeFFmpeg(t, "sleep 100")
	began := time.Now()
	must.Reject(Options{FFmpeg: true}.Open(bytes.NewReader(opus)))(t, "ffmpeg has given no audio for")
	stall = 2 * time.Second // more than a busy machine needs to start a process
	fakeFFmpeg(t, "cat >/dev/null; printf 'RIFF\\377\\377\\377\\377WAVEfmt \\020\\000\\000\\000\\001\\000\\001\\000\\100\\037\\000\\000\\200\\076\\000\\000\\002\\000\\020\\000data\\377\\377\\377\\377ab'")
	slow, feed := io.Pipe()
	go func() {
		feed.Write(opus)
		time.Sleep(3 * time.Second)
		feed.Close()
	}()
	r := must.Get(Options{FFmpeg: true}.Open(slow))(t)
	must.Equal(t, len(must.Get(all(r, 10))(t)), 1, "samples after a pause of the input")

	t.Setenv("TMPDIR", t.TempDir())
	fakeFFmpeg(t, "for a; do last=$file; file=$a; done; printf 'RIFF\\377\\377\\377\\377WAVEfmt \\020\\000\\000\\000\\001\\000\\001\\000\\100\\037\\000\\000\\200\\076\\000\\000\\002\\000\\020\\000data\\377\\377\\377\\377'; exec cat /dev/zero")
	r = must.Get(Options{FFmpeg: true}.Open(strings.NewReader("\x00\x00\x00\x1cftypM4A ")))(t)
	must.Get(r.Read(make([]float32, 1000)))(t)
	must.Reject(r.ReadMono(r.Format.SampleRate, 1e6))(t, "more than 1000000 samples")
	must.Do(t, r.Close())
	must.Do(t, r.Close())
	must.Equal(t, fmt.Sprint(must.Get(os.ReadDir(os.Getenv("TMPDIR")))(t)), "[]", "temporary files")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
