package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

func TestUsageErrors(t *testing.T) {
	m := digitsModel(t)
	checkRun(t, nil, []string{"fly"}, exitUsage, "fly")
	checkRun(t, nil, []string{"train", "juggling"}, exitUsage, `"juggling"`, "delay", "fsdd")
	checkRun(t, nil, []string{"train", "--set", "ssm.colour=red"}, exitUsage, "ssm.colour")
	checkRun(t, nil, []string{"train", "--set", "train.epochs=many"}, exitUsage, "train.epochs")
	checkRun(t, nil, []string{"train", "--set", "nonsense"}, exitUsage, "nonsense", "key=value")
	checkRun(t, nil, []string{"train", "--set", "ssm.d_state=7"}, exitUsage, "d_state 7")
	checkRun(t, nil, []string{"train", "listops", "--preset", "s6"}, exitUsage, `preset "s6"`, "s4-legs")
	checkRun(t, nil, []string{"train", "delay", "--preset", "dss"}, exitUsage, `preset "dss"`, `task "delay"`, "listops")
	checkRun(t, nil, []string{"train", "--preset", "dss", "--resume", "--out", "run"}, exitUsage, "--preset dss", "--resume")
	checkRun(t, nil, []string{"--level", "avx9000", "version"}, exitUsage, "avx9000", "generic")
	checkRun(t, nil, []string{"stream", m, "--format", "aiff"}, exitUsage, "aiff", "s16le")
}

func TestStdinIsATerminal(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"stream", digitsModel(t), "-"}, streams{in: strings.NewReader(""), out: &out, err: &errs, inTTY: true})
	equal(t, "exit code", code, exitUsage)
	contains(t, "stderr", errs.String(), "standard input is a terminal")
}

func TestBadAudio(t *testing.T) {
	m := digitsModel(t)
	checkRun(t, nil, []string{"stream", m, clip(t, 16000, 100)}, exitBadInput, "16000", "8000")
	checkRun(t, nil, []string{"stream", m, "--format", "s16le", "--rate", "44100", "-"}, exitBadInput, "44100", "8000")
	checkRun(t, strings.NewReader("RIFA this is no wave file at all......."), []string{"stream", m, "-"}, exitBadInput, "standard input", "WAVE")
	checkRun(t, nil, []string{"stream", m, write(t, "odd.raw", []byte("abc")), "--format", "s16le"}, exitBadInput, "odd.raw: after sample 1", "1 bytes into a sample of 2")
	checkRun(t, nil, []string{"stream", m, filepath.Join(t.TempDir(), "gone.wav")}, exitBadInput, "gone.wav")
	checkRun(t, nil, []string{"stream", t.TempDir()}, exitBadInput, "is a folder, expected a file")
	checkRun(t, nil, []string{"stream", "digit"}, exitBadInput, "open digit", "not a built-in model (commands, digits, wake)", `did you mean "digits"?`)
	b := read(t, clip(t, 8000, 100))
	b[20] = 0x99 // unknown
	checkRun(t, bytes.NewReader(b), []string{"stream", m}, exitBadInput, "format tag 0x99")
	copy(b, "FORM")
	checkRun(t, bytes.NewReader(b), []string{"stream", m}, exitBadInput, "starts with", "raw samples need --format and --rate")
}

// A model whose steps are not finite is rejected with the name of the tensor.
func TestBadWeights(t *testing.T) {
	m, path := must.Get(model.Load(digitsModel(t)))(t), filepath.Join(t.TempDir(), "m.safetensors")
	m.Weights.Layers[0].Step[1] = 1000
	must.Do(t, m.Save(path))
	checkRun(t, nil, []string{"stream", path, clip(t, 8000, 100)}, exitBadInput, path, `tensor "layers.0.log_dt": element 1 is 1000`)
	checkRun(t, nil, []string{"train", "fsdd", "--from", path, "--data", ".", "--out", path + "-run"}, exitBadInput, path)
}

// A file that is shorter than its header says, or ends inside a sample, is an error after its
// lines. From a pipe it is not an error: the end line says that the audio was truncated.
func TestTruncatedAudio(t *testing.T) {
	m := digitsModel(t)
	whole := read(t, clip(t, 8000, 1000))
	cut := whole[:len(whole)-501]
	path := write(t, "cut.wav", cut)
	code, stdout, stderr := invoke(nil, "stream", m, path, "--emit", "frames")
	equal(t, "exit code for a file", code, exitBadInput)
	contains(t, "stderr", stderr, path, "truncated")
	contains(t, "stdout", stdout, `"sample":749`)
	if _, end := lines(t, stdout); !end.Truncated {
		t.Errorf("the end line of a file does not say that it was truncated: %+v", end)
	}
	for format, in := range map[string][]byte{"wav": cut, "s16le": cut[44:], "f32le": make([]byte, 4*749+3)} {
		code, stdout, stderr = invoke(bytes.NewReader(in), "stream", m, "--format", format)
		must.Equal(t, code, exitOK, "%s from a pipe: exit code; stderr %q", format, stderr)
		_, end := lines(t, stdout)
		equal(t, format+" from a pipe: truncated", end.Truncated, true)
		equal(t, format+" from a pipe: samples", end.Samples, 749)
	}
}

// A sample that is not valid audio is an error. The samples before it are processed, and the end
// line is printed.
func TestInvalidSamples(t *testing.T) {
	m := digitsModel(t)
	for bad, message := range map[float32]string{
		float32(math.NaN()): "a sample is NaN", float32(math.Inf(1)): "a sample is +Inf", 2e6: "too loud", -math.MaxFloat32: "too loud",
	} {
		in := binary.LittleEndian.AppendUint32(make([]byte, 4*1004), math.Float32bits(bad))
		in = append(in, make([]byte, 4000)...)
		for _, args := range [][]string{{"--emit", "frames"}, {"--emit", "events"}, {"--rate", "16000", "--resample"}} {
			code, stdout, stderr := invoke(bytes.NewReader(in), append([]string{"stream", m, "--format", "f32le"}, args...)...)
			_, end := lines(t, stdout)
			what := fmt.Sprintf("%q, sample of %v: ", args, bad)
			equal(t, what+"exit code", code, exitBadInput)
			equal(t, what+"samples", end.Samples, 1004)
			equal(t, what+"truncated", end.Truncated, false)
			contains(t, what+"stderr", stderr, "after sample 1004", message)
		}
	}
	wild := must.Get(model.Load(m))(t)
	for i := range wild.Weights.DecoderWeight {
		wild.Weights.DecoderWeight[i] = math.MaxFloat32
	}
	path := filepath.Join(t.TempDir(), "wild.safetensors")
	must.Do(t, wild.Save(path))
	checkRun(t, nil, []string{"stream", path, clip(t, 8000, 1000), "--emit", "frames"}, exitBadInput, "after sample 800", "the network's output is")
	checkRun(t, nil, []string{"stream", path, clip(t, 8000, 8000)}, exitBadInput, "after sample", "the model's output for label")
}

// A task that differs from that of the resumed run, or of the configuration file, is an error.
func TestTaskMismatch(t *testing.T) {
	config := write(t, "c.toml", []byte("task = \"delay\"\n"))
	checkRun(t, nil, []string{"train", "fsdd", "--config", config, "--data", "."}, exitUsage, `"fsdd"`, `"delay"`)
	out := filepath.Join(t.TempDir(), "run")
	ok(t, append([]string{"train", "--out", out}, shortDelay...)...)
	checkRun(t, nil, []string{"train", "fsdd", "--out", out, "--resume"}, exitUsage, `"fsdd"`, `"delay"`)
}
