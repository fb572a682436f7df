package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// stream and calibrate read one channel with --channel, eval with data.channel. Without it, a note
// says that channels cancel, which --strict makes an error.
func TestChannelFlag(t *testing.T) {
	m, words, background := calibrationFiles(t)
	x := testfiles.Sounds(1, 8000, 1)
	opposed := make([]float32, len(x))
	for i, v := range x {
		opposed[i] = -v * 0.99
	}
	path := filepath.Join(background, "call.wav")
	testfiles.Stereo(t, path, 8000, x, opposed)
	note := path + ": its 2 channels cancel: their mean, which is read, has 0.0025 % of their power; --channel N reads one, --channel=-1 confirms the mean"
	checkRun(t, nil, []string{"stream", m, path}, exitBadInput, "2 channels, expected 1; --channel N reads one, --resample mixes them down")
	_, _, stderr := invoke(nil, "stream", m, path, "--resample")
	must.Equal(t, stderr, "note: "+note+"\n", "standard error of stream")
	checkRun(t, nil, []string{"stream", m, path, "--resample", "--strict"}, exitBadInput, note)
	_, _, stderr = invoke(nil, "stream", m, path, "--channel", "1", "--strict")
	must.Equal(t, stderr, "", "standard error with a channel")
	_, _, stderr = invoke(nil, "stream", m, path, "--channel=-1", "--strict")
	must.Equal(t, stderr, "", "standard error with the mean, confirmed")
	checkRun(t, nil, []string{"stream", m, path, "--channel", "2"}, exitBadInput, "no channel 2: the recording has 2, expected 0 to 1\n")

	args := []string{"calibrate", m, "--words", words, "--background", path, "--snr", "clean"}
	_, _, stderr = invoke(nil, args...)
	must.Equal(t, strings.Count(stderr, "note: "+note), 1, "notes of calibrate in %s", stderr)
	checkRun(t, nil, append(args, "--strict"), exitBadInput, note)
	checkRun(t, nil, append(args, "--channel", "1"), exitBadInput, "no channel 1: the recording has 1") // the words
	must.Do(t, os.RemoveAll(filepath.Join(words, "none")))
	must.Do(t, os.RemoveAll(filepath.Join(words, "other")))
	checkRun(t, nil, []string{"eval", m, "--task", "audio", "--data", words, "--set", "data.channel=7"}, exitBadInput, "no channel 7")
}

// Samples that are declared but begin as a file does are noted.
func TestDeclaredSamples(t *testing.T) {
	_, _, stderr := invoke(nil, "stream", digitsModel(t), clip(t, 8000, 4000), "--format", "s16le", "--emit", "frames")
	contains(t, "standard error", stderr, "note: ", "it begins as WAV does, but --format s16le reads all of it as samples")
}

// A stream that --strict rejects when it is opened has no lines.
func TestStrictStream(t *testing.T) {
	path := write(t, "junk.mp3", append([]byte("no frame begins here"), read(t, "../../audio/testdata/mono.mp3")...))
	code, stdout, stderr := invoke(nil, "stream", digitsModel(t), path, "--resample", "--strict")
	must.Equal(t, code, exitBadInput, "exit code; standard error %s", stderr)
	must.Equal(t, stdout, "", "lines")
}

// Without ffmpeg or with --no-ffmpeg, other formats are named in one line with the command that
// converts them.
func TestNoFFmpeg(t *testing.T) {
	t.Setenv("PATH", "")
	webm := write(t, "memo", must.Get(os.ReadFile("../../audio/testdata/ffmpeg/rec.webm"))(t))
	t.Setenv("S4D_NO_FFMPEG", "0")
	checkRun(t, nil, []string{"stream", webm, "--resample"}, exitBadInput,
		webm+": audio: WebM or Matroska is read only through ffmpeg, which is not installed", "ffmpeg -i FILE -f wav - | s4d-fast stream\n")
	t.Setenv("S4D_NO_FFMPEG", "") // as if it were not set, as the next one
	t.Setenv("S4D_STRICT", "")
	checkRun(t, nil, []string{"stream", webm, "--resample", "--no-ffmpeg"}, exitBadInput, "is read only through ffmpeg; convert it elsewhere")
}
