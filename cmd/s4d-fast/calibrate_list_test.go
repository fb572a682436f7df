package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// --list prints the false alarms of the chosen point with their files and times, and the clips of
// the missed words.
func TestCalibrateList(t *testing.T) {
	m, words, background := calibrationFiles(t)
	loud, soft := filepath.Join(background, "0.wav"), filepath.Join(words, "low", "5.wav")
	args := []string{m, "--words", words, "--background", background, "--snr", "clean"}
	for command, more := range map[string][]string{"measured": nil, "chosen": {"--false-alarms", "100", "--write", filepath.Join(t.TempDir(), "out.safetensors")}} {
		args := slices.Concat([]string{"calibrate"}, args, more)
		text := ok(t, append(args, "--list", "5")...)
		contains(t, command, text, "1 of 1 false alarms, with their start and end in seconds of the file\nconfidence  label  start  end ", "low    10.", loud+"\n",
			"1 of 1 missed words\nlabel  file\nlow    "+soft+"\n")
		var r detectionResult
		decode(t, ok(t, append(args, "--list", "5", "--json")...), &r)
		if len(r.Alarms) != 1 || r.Alarms[0].File != loud || r.Alarms[0].Start < 9.9 || r.Alarms[0].Start > 10.2 || r.Alarms[0].End < 10.4 || r.Alarms[0].Confidence < 0.5 {
			t.Errorf("%s: false alarms %+v", command, r.Alarms)
		}
		equal(t, command+": missed words", fmt.Sprint(r.Missed), fmt.Sprint([]calibration.Word{{Label: "low", File: soft}}))
		if text := ok(t, args...); strings.Contains(text, "missed words\n") || strings.Contains(text, "confidence") {
			t.Errorf("%s: a list without --list: %s", command, text)
		}
	}
}

// Recordings are recognised by their content, too. Files that are ignored are listed.
func TestCalibrateIgnored(t *testing.T) {
	m, words, background := calibrationFiles(t)
	must.Do(t, os.Rename(filepath.Join(words, "low", "0.wav"), filepath.Join(words, "low", "0.sound")))
	must.Do(t, os.WriteFile(filepath.Join(words, "low", "notes.txt"), []byte("no audio"), 0o666))
	for i := range 12 {
		must.Do(t, os.WriteFile(filepath.Join(background, fmt.Sprintf("%02d.txt", i)), []byte("no audio"), 0o666))
	}
	code, stdout, stderr := invoke(nil, "calibrate", m, "--json", "--words", words, "--background", background)
	equal(t, "exit code", code, exitOK)
	var r detectionResult
	decode(t, stdout, &r)
	equal(t, "words", r.Words.Count, 6)
	equal(t, "ignored files", len(r.Ignored), 13)
	contains(t, "stderr", stderr, "ignored "+filepath.Join(words, "low", "notes.txt")+": not in a known format of sound\n",
		"ignored "+filepath.Join(background, "08.txt"), "ignored 3 more files\n")
	if strings.Contains(stderr, "09.txt") {
		t.Errorf("more than ten files: %s", stderr)
	}
}
