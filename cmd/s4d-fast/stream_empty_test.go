package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// Input that has a header but no samples or rows is not an error: the end line counts 0, and a
// warning is printed. Input without a header is an error.
func TestStreamEmpty(t *testing.T) {
	rows, _ := rowsModel(t, model.SeriesForecast, nil)
	wav := filepath.Join(t.TempDir(), "empty.wav")
	must.Do(t, audio.WriteWAVFile(wav, 8000, nil))
	for _, c := range []struct {
		args        []string
		input       string
		code        int
		end, stderr string
	}{
		{[]string{"rows", rows}, "temp,load\n", exitOK, `"rows":0`, "warning: standard input: no rows after the header\n"},
		{[]string{"stream", wav}, "", exitOK, `"samples":0`, "warning: " + wav + ": no samples\n"},
		{[]string{"stream", "-", "--format", "s16le"}, "", exitOK, `"samples":0`, "warning: standard input: no samples\n"},
		{[]string{"rows", rows}, "", exitBadInput, "", "standard input: no rows\n"},
		{[]string{"rows", rows, "--format", "jsonl"}, "", exitBadInput, "", "standard input: no rows\n"},
		{[]string{"stream", "-", "--format", "wav"}, "", exitBadInput, "", "it has no bytes"},
		{[]string{"rows", rows}, "temp,load\n1,2\n", exitOK, `"rows":1`, ""},
	} {
		code, stdout, stderr := invoke(strings.NewReader(c.input), c.args...)
		equal(t, "exit code of "+strings.Join(c.args, " "), code, c.code)
		contains(t, "stderr", stderr, c.stderr)
		equal(t, "stderr is empty", stderr == "", c.stderr == "")
		if all := strings.Split(strings.TrimSpace(stdout), "\n"); c.end != "" {
			contains(t, "last line", all[len(all)-1], `"type":"end"`, c.end)
		} else {
			equal(t, "output", stdout, "")
		}
	}
}
