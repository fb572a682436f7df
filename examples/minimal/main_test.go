package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

const asProcess = "MINIMAL_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A synthetic voice says "five" and "zero". The example finds both, with their times, in files of
// several rates and channels.
func TestRun(t *testing.T) {
	for _, format := range []struct{ rate, channels int }{{8000, 1}, {16000, 1}, {44100, 2}} {
		var out bytes.Buffer
		must.Do(t, run(voiceFile(t, format.rate, format.channels), &out))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(words) {
			t.Fatalf("%+v: output %q, expected one line per word", format, out.String())
		}
		for i, word := range words {
			var onset, end, confidence float64
			var label string
			if _, err := fmt.Sscanf(lines[i], "%f s to %f s %s (%f)", &onset, &end, &label, &confidence); err != nil {
				t.Fatalf("%+v: line %q: %v", format, lines[i], err)
			}
			off := max(math.Abs(onset-word.onset), math.Abs(end-word.onset-wordSeconds))
			if label != word.digit || off > 0.05 || confidence < 0.9 || confidence > 1 {
				t.Errorf("%+v: line %q, expected digit %s from %.2f s to %.2f s", format, lines[i], word.digit, word.onset, word.onset+wordSeconds)
			}
		}
	}
}

// Wrong arguments end the program with exit code 2, and a missing file with 1. Standard output
// stays empty.
func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.wav")
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{{nil, 2, "usage: "}, {[]string{"a", "b"}, 2, "usage: "}, {[]string{missing}, 1, missing}} {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(must.Get(os.Executable())(t), c.args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asProcess+"=1"), &stdout, &stderr
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != c.code {
			t.Errorf("%q: %v, expected exit code %d", c.args, err, c.code)
		}
		if stdout.Len() > 0 || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: output %q and errors %q, expected an error with %q", c.args, stdout.String(), stderr.String(), c.stderr)
		}
	}
}

const wordSeconds = 0.5

// words are those of the voice. The rows of formants are the three resonances of the vocal tract in
// Hz, at equal distances in time.
var words = []struct {
	digit        string
	onset, pitch float64
	formants     [][3]float64
}{
	{"5", 0.5, 130, [][3]float64{{730, 1090, 2440}, {730, 1090, 2440}, {270, 2290, 3010}}},
	{"0", 1.5, 100, [][3]float64{{270, 2290, 3010}, {490, 1350, 1690}, {570, 840, 2410}, {300, 870, 2240}}},
}

// voiceFile writes the words to a WAV file. A second channel is silent.
func voiceFile(t *testing.T, rate, channels int) string {
	x := make([]float32, int(2.5*float64(rate))*channels)
	for _, word := range words {
		n, first := int(wordSeconds*float64(rate)), int(word.onset*float64(rate))
		for i := range n {
			u := float64(i) / float64(n)
			v := voice(word.formants, word.pitch, u, float64(i)/float64(rate))
			x[(first+i)*channels] = float32(0.1 * v * math.Sin(math.Pi*u))
		}
	}
	var wav bytes.Buffer
	must.Do(t, audio.WriteWAV(&wav, rate, x)) // one channel; the header is changed to several
	header := wav.Bytes()
	binary.LittleEndian.PutUint16(header[22:], uint16(channels))
	binary.LittleEndian.PutUint32(header[28:], uint32(2*rate*channels)) // bytes per second
	binary.LittleEndian.PutUint16(header[32:], uint16(2*channels))      // bytes per frame
	path := filepath.Join(t.TempDir(), "voice.wav")
	must.Do(t, os.WriteFile(path, wav.Bytes(), 0o600))
	return path
}

// voice returns the sum of the harmonics of the pitch, shaped by the resonances, at second t of a
// word, of which the fraction u has passed.
func voice(formants [][3]float64, pitch, u, t float64) float64 {
	at := u * float64(len(formants)-1)
	k := int(at)
	a := at - float64(k)
	var sum float64
	for h := 1.0; h*pitch < 3900; h++ {
		var gain float64
		for j, f := range formants[k] {
			f = f*(1-a) + formants[k+1][j]*a
			d := (h*pitch - f) / (60 + 40*float64(j))
			gain += 3 / (1 + d*d) / float64(j+1)
		}
		sum += gain / h * math.Sin(2*math.Pi*h*pitch*t)
	}
	return sum
}
