//go:build cgo && linux

package main_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// built is the folder with the library and the C programs, which the first test builds.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "capi")
	if err != nil {
		return "", err
	}
	folder.path = dir
	library := filepath.Join(dir, "libs4d.so")
	if _, err := output("go", "build", "-buildmode=c-shared", "-o", library, "."); err != nil {
		return "", err
	}
	for name, source := range map[string]string{"example": "example/example.c", "check": "testdata/check.c"} {
		if _, err := output("gcc", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=gnu11", "-o", filepath.Join(dir, name), source,
			"-I.", "-L"+dir, "-ls4d", "-lm", "-pthread", "-Wl,-rpath,$ORIGIN"); err != nil {
			return "", err
		}
	}
	return dir, nil
})

var (
	folder      struct{ path string }
	declaration = regexp.MustCompile(`(?m)^[a-z].*\b(s4d_[a-z_]+)\(`)
)

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(folder.path)
	os.Exit(code)
}

// programs returns the folder with the library and the C programs.
func programs(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs C programs")
	}
	for _, name := range []string{"go", "gcc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	return must.Get(built())(t)
}

// output runs a program and returns its standard output.
func output(name string, args ...string) (string, error) {
	return outputOf(exec.Command(name, args...))
}

func outputOf(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Environ(), "S4D_LEVEL="+level.Current())
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", cmd.Args, err, stderr.String())
	}
	return string(out), err
}

// The C example prints the events of package events, with the same bits, for spoken words and for
// sounds.
func TestExample(t *testing.T) {
	dir := programs(t)
	speech, err := testfiles.Speech(t.TempDir(), 8000, "five", "zero", "three", "nine")
	if err != nil {
		t.Log("without speech: ", err)
	}
	found := 0
	for _, x := range [][]float32{speech, testfiles.Sounds(20, 8000, 1)} {
		pcm := samples16(x)
		audio.DecodeS16LE(x, pcm)
		var want strings.Builder
		for _, e := range recognize(t, "digits", events.Options{}, x) {
			fmt.Fprintf(&want, "%d %d %s %.17g\n", e.Onset, e.End, e.Label, e.Confidence)
			found++
		}
		for _, model := range []string{"digits", must.Get(filepath.Abs("../pretrained/digits.safetensors"))(t)} {
			cmd := exec.Command(filepath.Join(dir, "example"), model)
			cmd.Stdin = bytes.NewReader(pcm)
			must.Equal(t, must.Get(outputOf(cmd))(t), want.String(), "events of the C example, model %s", model)
		}
	}
	if speech != nil && found < 3 {
		t.Errorf("%d events in four spoken digits and other sounds, expected 3 or more", found)
	}
	_, err = output(filepath.Join(dir, "example"), "abacus")
	must.Fail(t, err, "abacus")
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil && speech != nil { // Linux has it
		cmd := exec.Command(filepath.Join(dir, "example"), "digits")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(samples16(speech)), full
		must.Fail(t, cmd.Run(), "exit status 1")
	}
}

// recognize returns the events of a recording; zero options are the model's.
func recognize(t *testing.T, name string, opt events.Options, x []float32) []events.Event {
	t.Helper()
	m := must.Get(pretrained.Load(name))(t)
	if opt == (events.Options{}) {
		opt = events.DefaultsFor(m)
	}
	return must.Get(must.Get(events.New(m, opt))(t).Recognize(x))(t)
}

func samples16(x []float32) []byte {
	pcm := make([]byte, 0, 2*len(x))
	for _, v := range x {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(max(-1, min(v, 0.9999))*32768)))
	}
	return pcm
}

// The Python module gives the events of package events, with the same bits.
func TestPython(t *testing.T) {
	dir := programs(t)
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("no python3 with NumPy")
	}
	for _, name := range []string{"commands", "digits"} { // wake has too few events in these sounds
		m := must.Get(pretrained.Load(name))(t)
		x := testfiles.Sounds(20, int(m.Meta.SampleRate), 2)
		raw := filepath.Join(t.TempDir(), "x.f32")
		testfiles.Write(t, raw, must.Get(binary.Append(nil, binary.LittleEndian, x))(t))
		cmd := exec.Command(python, "testdata/check.py", name, raw)
		cmd.Env = append(os.Environ(), "PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1", "S4D_LIBRARY="+filepath.Join(dir, "libs4d.so"))
		var got struct {
			Level, Version string
			Events         [][4]any
		}
		must.Do(t, json.Unmarshal([]byte(must.Get(outputOf(cmd))(t)), &got))
		must.Equal(t, got.Level, level.Current(), "level")
		if got.Version == "" {
			t.Error("no version")
		}
		opt := events.DefaultsFor(m).WithThreshold(0.01)
		opt.OffThreshold, opt.Refractory, opt.Smoothing, opt.Confirm = 0.01, 0, 0.05, 1
		var want [][4]any
		for _, e := range recognize(t, name, opt, x) {
			want = append(want, [4]any{float64(e.Onset), float64(e.End), e.Label, e.Confidence})
		}
		if !slices.Equal(got.Events, want) || len(want) < 5 {
			t.Errorf("%s: events of Python\n%v\nexpected those of Go, and 5 or more:\n%v", name, got.Events, want)
		}
	}
}

// Wrong handles, pointers, lengths, files and snapshots are errors, and so is a call after fork.
func TestAbuse(t *testing.T) {
	dir := programs(t)
	must.Get(output(filepath.Join(dir, "check"), "abuse", "../pretrained/digits.safetensors"))(t)
}

// Threads share a model, and compete for a stream, without a wrong event or a lost call.
func TestThreads(t *testing.T) {
	dir := programs(t)
	out := must.Get(output(filepath.Join(dir, "check"), "threads", "8"))(t)
	var served, busy int
	must.Get(fmt.Sscanf(out, "%d served, %d busy", &served, &busy))(t)
	if served == 0 {
		t.Errorf("%q, expected calls that were served", out)
	}
}

// Cycles of create, process and destroy do not let the resident memory grow. S4D_CYCLES is their
// number.
func TestCycles(t *testing.T) {
	dir := programs(t)
	n := "2000"
	if long := os.Getenv("S4D_CYCLES"); long != "" {
		n = long
	}
	out := must.Get(output(filepath.Join(dir, "check"), "cycles", n))(t)
	var before, after int
	must.Get(fmt.Sscan(out, &before, &after))(t)
	t.Logf("%s cycles: %d kB before, %d kB after", n, before, after)
	// The heap of Go's garbage collector varies by a few megabytes. 2,000 streams of the model that
	// are never freed would take about 100 MB.
	if after > before+16384 {
		t.Errorf("resident memory grew from %d to %d kB in %s cycles", before, after, n)
	}
}

// Valgrind finds no lost memory, and no invalid access outside the library. It does not know Go's
// stacks: valgrind.supp suppresses what it reports about them. Without fair scheduling, a thread
// that spins can keep the others from running.
func TestLeaks(t *testing.T) {
	dir := programs(t)
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip(err)
	}
	const found = 9
	valgrind := func(program ...string) error {
		cmd := exec.Command("valgrind", append([]string{"--quiet", "--fair-sched=yes", "--undef-value-errors=no", "--suppressions=testdata/valgrind.supp", "--leak-check=full", "--show-leak-kinds=definite",
			"--errors-for-leak-kinds=definite,indirect", "--error-exitcode=" + strconv.Itoa(found)}, program...)...)
		// Valgrind does not know AVX-512. It announces RDTSCP even if the processor lacks it, and
		// then stops at this instruction, so Go's runtime must not use it.
		cmd.Env = append(os.Environ(), "S4D_LEVEL=generic", "GODEBUG=cpu.rdtscp=off")
		var stderr bytes.Buffer
		cmd.Stderr, cmd.Stdin = &stderr, bytes.NewReader(make([]byte, 3200))
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, stderr.String())
		}
		return nil
	}
	must.Do(t, valgrind(filepath.Join(dir, "check"), "cycles", "3"))
	must.Do(t, valgrind(filepath.Join(dir, "example"), "digits"))
	must.Fail(t, valgrind(filepath.Join(dir, "check"), "leak"), "exit status 9", "definitely lost")
}

// The library exports every function that the header declares, and the ABI of the header is that of
// the Python module.
func TestHeader(t *testing.T) {
	header := string(must.Get(os.ReadFile("s4d.h"))(t))
	module := string(must.Get(os.ReadFile("python/s4d_fast.py"))(t))
	if !strings.Contains(header, "#define S4D_ABI 2\n") || !strings.Contains(module, "_ABI = 2\n") {
		t.Error("the ABI of s4d.h or of s4d_fast.py is not 2")
	}
	dir := programs(t)
	if _, err := exec.LookPath("nm"); err != nil {
		t.Skip(err)
	}
	symbols := must.Get(output("nm", "-D", "--defined-only", filepath.Join(dir, "libs4d.so")))(t)
	declared := declaration.FindAllStringSubmatch(header, -1)
	for _, d := range declared {
		if !strings.Contains(symbols, " T "+d[1]+"\n") {
			t.Errorf("the library does not export %s", d[1])
		}
	}
	if len(declared) < 20 {
		t.Errorf("%d functions in s4d.h, expected 20 or more", len(declared))
	}
}
