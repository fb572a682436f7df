package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/report"
)

// Files of every format are recognised by their bytes, from a file and from standard input,
// whatever the name; the lines are valid under the schema.
func TestStreamFormats(t *testing.T) {
	m := digitsModel(t)
	for name, seconds := range map[string]float64{"mono.flac": 0.2, "stereo.flac": 0.2, "tag.mp3": 0.2, "mono.ogg": 0.3, "stereo.ogg": 0.1} {
		file := read(t, filepath.Join("..", "..", "audio", "testdata", name))
		format := strings.TrimPrefix(filepath.Ext(name), ".")
		path := write(t, "recording", file)
		fromFile := ok(t, "stream", m, path, "--resample", "--emit", "frames")
		code, fromPipe, stderr := invoke(bytes.NewReader(file), "stream", m, "--resample", "--emit", "frames", "--format", format)
		equal(t, name+" from a pipe: exit code", code, exitOK)
		equal(t, name+" from a pipe: stderr", stderr, "")
		for _, out := range []string{fromFile, fromPipe} {
			reporttest.Lines(t, out)
			var start report.Start
			must.Do(t, json.Unmarshal([]byte(out[:strings.Index(out, "\n")]), &start))
			equal(t, name+": format", start.Format, format)
			if _, end := lines(t, out); end.Seconds < seconds-0.001 || end.Seconds > seconds+0.001 {
				t.Errorf("%s: %g seconds, expected %g", name, end.Seconds, seconds)
			}
		}
		checkRun(t, nil, []string{"stream", m, path, "--format", "wav"}, exitBadInput, path, "the format is "+format+", expected wav (--format)\n")
		checkRun(t, nil, []string{"stream", m, write(t, "cut", file[:2*len(file)/3]), "--resample", "--emit", "frames"}, exitBadInput, "cut", "truncated")
	}
}
