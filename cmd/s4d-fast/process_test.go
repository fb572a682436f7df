//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// commandVariable is the environment variable with which the test binary is the command.
const commandVariable = "S4D_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) == "" {
		os.Exit(m.Run())
	}
	main()
}

// process returns the command as a process of its own. The words before are those of a program that
// starts it, such as strace.
func process(t *testing.T, before []string, args ...string) *exec.Cmd {
	t.Helper()
	line := append(append(append([]string{}, before...), must.Get(os.Executable())(t)), args...)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	return cmd
}

// trial returns the arguments of a small training run with a checkpoint after each of its steps,
// four per epoch. As the learning rate is constant, a run of fewer epochs has the same bits.
func trial(out string, epochs int, more ...string) []string {
	return slices.Concat([]string{"train", "delay", "--out", out, "--threads", "1"}, more, sets(
		"data.length=32", "data.delay=4", "data.train_size=16", "data.eval_size=4", "train.batch=4", "model.d_model=4", "ssm.d_state=4",
		"train.checkpoint_every=1", "optim.schedule=constant", fmt.Sprintf("train.epochs=%d", epochs)))
}

// scratch returns an empty folder, in memory where the system has one: on a disk the syncs take
// most of the time.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "s4d-fast-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// resume ends the run in a folder: it resumes it, or begins it if the folder has none yet. It
// returns the output.
func resume(t *testing.T, out string, epochs int) (string, error) {
	t.Helper()
	args := trial(out, epochs, "--resume")
	if _, err := os.Stat(filepath.Join(out, "config.toml")); errors.Is(err, os.ErrNotExist) {
		args = trial(out, epochs)
	}
	text, err := process(t, nil, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("resume: %w: %s", err, text)
	}
	return string(text), err
}

// stopped waits for a process and returns its exit code, or −1 if a signal ended it.
func stopped(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// endOf identifies the end of a run: the best model, the last weights and moments, and the metrics
// without times.
func endOf(t *testing.T, out string) string {
	t.Helper()
	h := sha256.New()
	h.Write(read(t, filepath.Join(out, "best.safetensors")))
	f := must.Get(safetensors.Read(bytes.NewReader(read(t, filepath.Join(out, "last", "checkpoint.safetensors")))))(t)
	f.Metadata = nil // the state has times
	must.Get(f.WriteTo(h))(t)
	for line := range strings.Lines(string(read(t, filepath.Join(out, "metrics.jsonl")))) {
		m := map[string]any{}
		decode(t, line, &m)
		delete(m, "seconds")
		delete(m, "sequences_per_second")
		h.Write(must.Get(json.Marshal(m))(t))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// uninterrupted returns the result of the trial and how long it takes.
func uninterrupted(t *testing.T, epochs int) (end string, takes time.Duration) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	out := filepath.Join(scratch(t), "run")
	begin := time.Now()
	if text, err := process(t, nil, trial(out, epochs)...).CombinedOutput(); errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("an emulated test cannot start itself: %v", err)
	} else if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return endOf(t, out), time.Since(begin)
}

// progress is a number of complete steps, and of complete epochs.
type progress struct{ Step, Epoch int }

// resumePoint returns the progress from which a run resumes: that of its checkpoint. A run without
// a checkpoint starts at step 0.
func resumePoint(out string) (p progress) {
	content, _ := os.ReadFile(filepath.Join(out, "last", "checkpoint.safetensors"))
	if f, err := safetensors.Read(bytes.NewReader(content)); err == nil {
		_ = json.Unmarshal([]byte(f.Metadata["state"]), &p)
	}
	return p
}

// completed finds the steps that a run reports as complete, in its output and in metrics.jsonl.
var completed = regexp.MustCompile(`(?:epoch=\d+ step=|"epoch":\d+,"step":|stopped after step )(\d+)`)

// reported returns the largest number of complete steps in the output or the metrics of a run. If
// the last line is incomplete, the number may be too small, but not too large.
func reported(text string) (steps int) {
	for _, m := range completed.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		steps = max(steps, n)
	}
	return steps
}

// firstEpoch finds the first epoch in the output of a run.
var firstEpoch = regexp.MustCompile(`msg=epoch epoch=\d+ `)

// sameEnd resumes a trial that has reported a number of complete steps. It reports whether the run
// continues after these steps, and ends as one that was not interrupted. A trial writes the
// checkpoint of the last step of an epoch before it reports the epoch, in metrics.jsonl and then in
// its output. Thus the newest checkpoint contains the last step that was reported.
func sameEnd(t *testing.T, what, out string, steps, epochs int, want string) bool {
	t.Helper()
	from := resumePoint(out)
	metrics, _ := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
	if steps = max(steps, reported(string(metrics))); from.Step < steps {
		t.Errorf("%s: the checkpoint has %d complete steps, but the run has reported %d", what, from.Step, steps)
		return false
	}
	text, err := resume(t, out, epochs)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	expected := ""
	if from.Epoch < epochs {
		expected = fmt.Sprintf("msg=epoch epoch=%d ", from.Epoch+1)
	}
	if first := firstEpoch.FindString(text); first != expected {
		t.Errorf("%s: the checkpoint has %d complete epochs, but the first epoch line of the resumed run is %q, expected %q", what, from.Epoch, first, expected)
		return false
	}
	if endOf(t, out) != want {
		t.Errorf("%s: the resumed run has another result", what)
		return false
	}
	return true
}
