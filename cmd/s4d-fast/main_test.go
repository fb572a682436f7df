package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// invoke runs one command line in-process.
func invoke(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	code = run(context.Background(), args, streams{in: stdin, out: &out, err: &errs})
	return code, out.String(), errs.String()
}

// ok runs a command line that must succeed and returns its stdout.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := invoke(nil, args...)
	if code != exitOK {
		t.Fatalf("s4d-fast %s: exit code %d, stderr %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// checkRun checks the exit code of a command line, and that stderr has every part.
func checkRun(t *testing.T, stdin io.Reader, args []string, code int, parts ...string) {
	t.Helper()
	got, _, stderr := invoke(stdin, args...)
	must.Equal(t, got, code, "s4d-fast %s: exit code; stderr: %s", strings.Join(args, " "), stderr)
	contains(t, "stderr of s4d-fast "+strings.Join(args, " "), stderr, parts...)
}

// equal reports a value that is not the expected one.
func equal[T comparable](t *testing.T, what string, got, expected T) {
	t.Helper()
	must.Equal(t, got, expected, "%s", what)
}

// contains reports every part that is not in the text.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s has no %q:\n%s", what, p, text)
		}
	}
}

func decode(t *testing.T, line string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), v); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, b, 0o644))
	return path
}

// interrupted runs a command line that is sent SIGINT when it first writes the word to stderr.
func interrupted(t *testing.T, word string, args ...string) (code int, stderr string) {
	t.Helper()
	return interruptedOn(t, false, word, args...)
}

// interruptedOn is interrupted where stderr is a terminal or is not.
func interruptedOn(t *testing.T, terminal bool, word string, args ...string) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	var errs bytes.Buffer
	trigger := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte(word)) {
			cancel(program.Signal(syscall.SIGINT))
		}
		return errs.Write(p)
	})
	code = run(ctx, args, streams{in: strings.NewReader(""), out: io.Discard, err: trigger, errTTY: terminal})
	return code, errs.String()
}

// writerFunc is a writer's Write method.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// digitsModel saves a small untrained audio network that expects 8 kHz.
func digitsModel(t *testing.T) string {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 1, 3, 4, 2, 8
	m := must.Get(model.New(c, 1))(t)
	m.Meta = model.Meta{Task: "fsdd", Labels: []string{"a", "b", "none"}, SampleRate: 8000, InputMean: []float32{0.1}, InputStd: []float32{0.5}}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	must.Do(t, m.Save(path))
	return path
}

// clip writes n samples of a tone and returns the file's path.
func clip(t *testing.T, rate, n int) string {
	t.Helper()
	samples := make([]float32, n)
	for i := range samples {
		samples[i] = float32(i%17)/17 - 0.5
	}
	path := filepath.Join(t.TempDir(), "0_tone_5.wav")
	must.Do(t, audio.WriteWAVFile(path, rate, samples))
	return path
}

// tones writes a data set in the layout of FSDD: three digits, each a tone of another pitch, of
// varying lengths.
func tones(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for digit := range 3 {
		for index := 5; index < 14; index++ {
			samples := make([]float32, 300+37*index+11*digit)
			for i := range samples {
				samples[i] = 0.3 * float32(math.Sin(float64(i*(digit+1))*0.2+float64(index)))
			}
			name := fmt.Sprintf("%d_tone_%d.wav", digit, index)
			must.Do(t, audio.WriteWAVFile(filepath.Join(dir, name), 8000, samples))
		}
	}
	return dir
}

// sets returns the flags that set keys of the configuration.
func sets(list ...string) (flags []string) {
	for _, s := range list {
		flags = append(flags, "--set", s)
	}
	return flags
}

// small are the settings of a run that takes a second.
var small = sets("model.d_model=6", "model.n_layers=2", "ssm.d_state=8", "train.epochs=2", "train.batch=4")

// shortDelay are the settings of a run of task delay that takes less.
var shortDelay = sets("data.length=64", "data.delay=16", "ssm.d_state=8", "data.train_size=64", "data.eval_size=8", "train.epochs=1")

func TestVersion(t *testing.T) {
	if got := strings.TrimSpace(ok(t, "version", "--levels")); !strings.HasPrefix(got, "generic") {
		t.Errorf("levels %q", got)
	}
	text := ok(t, "version")
	contains(t, "version", text, "processor  ", "level      "+string(vek.CurrentLevel())+" (available: generic")
}

// --version prints what the command version prints.
func TestVersionFlag(t *testing.T) {
	must.Equal(t, ok(t, "--version"), ok(t, "version"), "output of --version")
}

// The help shows a name for the value of every flag, and marks a list once.
func TestPlaceholders(t *testing.T) {
	parser := must.Get(kong.New(&cli{}, variables()))(t)
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			name := f.FormatPlaceHolder()
			if f.IsBool() {
				continue
			}
			if strings.Count(name, ",...") > 1 {
				t.Errorf("%s --%s=%s marks the list twice", leaf.FullPath(), f.Name, name)
			}
			if name == strings.ToUpper(f.Target.Kind().String()) {
				t.Errorf("%s --%s=%s shows the value's Go type", leaf.FullPath(), f.Name, name)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	for _, command := range []string{
		"train", "eval", "calibrate", "stream", "convert", "inspect", "bench", "plot poles", "plot response", "plot kernels", "plot spectrum",
		"plot hinf", "plot delay", "plot sweep", "plot all",
	} {
		contains(t, command+" --help", ok(t, append(strings.Fields(command), "--help")...), "Example", "s4d-fast "+command)
	}
}
