package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// signals is the environment variable that makes this test binary the command. Its value is a
// rank, a step and a signal, which that rank sends to itself after the step.
const signals = "S4D_MPI_SIGNAL"

func TestMain(m *testing.M) {
	text, is := os.LookupEnv(signals)
	if !is {
		os.Exit(m.Run())
	}
	var of raiser
	var at int
	if n, _ := fmt.Sscan(text, &at, &of.step, &of.signal); n == 3 {
		reporter = func(ctx context.Context, rank int) train.Reporter {
			if rank == at {
				of.ctx = ctx
				return of
			}
			return nil
		}
	}
	main()
}

// raiser sends a signal to its own process after a step. Step returns when the run has received the
// signal.
type raiser struct {
	ctx    context.Context // of the run
	step   int
	signal syscall.Signal
}

func (r raiser) Begin(train.Progress)      {}
func (r raiser) Epoch(train.Metrics, bool) {}
func (r raiser) End()                      {}

func (r raiser) Step(p train.Progress) {
	if p.Step == r.step {
		syscall.Kill(os.Getpid(), r.signal)
		<-r.ctx.Done()
	}
}

// settings are those of a short run, four epochs of ten steps.
var settings = []string{
	"seed=4", "data.length=40", "data.delay=5", "data.train_size=80", "data.eval_size=8", "train.batch=8", "train.epochs=4",
	"model.norm=batch", "model.dropout=0.1", "ssm.d_state=8", "train.shards=4",
}

// command runs the command on some ranks and returns what it prints.
func command(t *testing.T, ranks int, signal string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("mpirun is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "mpirun", append([]string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(ranks), os.Args[0]}, args...)...)
	cmd.Env = append(os.Environ(), signals+"="+signal)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// plain trains in this process, without MPI, and returns the trainer.
func plain(t *testing.T, dir string) *train.Trainer {
	t.Helper()
	tk := must.Get(task.Lookup("delay"))(t)
	cfg := tk.Preset()
	for _, s := range settings {
		must.Do(t, cfg.Set(s))
	}
	must.Do(t, tk.Resolve(&cfg))
	tr := must.Get(train.New(t.Context(), cfg, must.Get(tk.Load(t.Context(), task.From(cfg)))(t), train.Options{Dir: dir}))(t)
	defer tr.Close()
	must.Do(t, tr.Fit(t.Context()))
	return tr
}

// After a signal and after an error, messages say how to resume the run, unless that cannot help.
func TestResumeMessages(t *testing.T) {
	dir, c := t.TempDir(), trainCmd{}
	tr := plain(t, dir)
	resume := "; resume with --out " + dir + " --resume"
	must.Equal(t, c.explain(tr, train.ErrInterrupted).Error(), "interrupted"+resume, "interrupted")
	must.Equal(t, c.explain(tr, train.ErrDiverged).Error(), "diverged", "diverged")
	checkpoint := filepath.Join(dir, "last", "checkpoint.safetensors")
	for signal, after := range map[syscall.Signal]string{syscall.SIGTERM: resume + " (mpirun sends SIGTERM when a rank is lost or the job is stopped)", syscall.SIGUSR1: ""} {
		must.Do(t, os.Remove(checkpoint))
		message := save(program.Signal(signal), tr)
		must.Equal(t, message, program.Signal(signal).Error()+": wrote a checkpoint to "+dir+after, "message")
		must.Get(os.Stat(checkpoint))(t)
	}
}

// A run that is stopped, that then loses a rank, and that other numbers of ranks resume, has the
// bits of an undisturbed run of s4d-fast.
func TestLostRank(t *testing.T) {
	dir := t.TempDir()
	want, run := filepath.Join(dir, "plain"), filepath.Join(dir, "run")
	plain(t, want)
	args := []string{"train", "delay", "--out", run, "--threads", "1"}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	out, err := command(t, 2, fmt.Sprint("1 7 ", int(syscall.SIGUSR1)), args...)
	if err == nil || !strings.Contains(out, "interrupted; resume with --out "+run+" --resume") {
		t.Fatalf("stopped by a signal: error %v, output\n%s", err, out)
	}
	resume := []string{"train", "--out", run, "--resume", "--threads", "1"}
	out, err = command(t, 4, fmt.Sprint("2 23 ", int(syscall.SIGKILL)), resume...)
	if err == nil || !strings.Contains(out, "exited on signal 9") {
		t.Fatalf("a lost rank: error %v, output\n%s", err, out)
	}
	if !strings.Contains(out, "stopped by SIGTERM: wrote a checkpoint to "+run) {
		t.Log("mpirun ended rank 0 before it could write a checkpoint, so the run resumes from an earlier one")
	}
	out, err = command(t, 1, "", resume...)
	if err != nil || !strings.Contains(out, "Best epoch") {
		t.Fatalf("resumed: error %v, output\n%s", err, out)
	}
	for _, name := range []string{"best.safetensors"} {
		a, b := must.Get(os.ReadFile(filepath.Join(want, name)))(t), must.Get(os.ReadFile(filepath.Join(run, name)))(t)
		must.Equal(t, bytes.Equal(a, b), true, "%s has the bits of the undisturbed run", name)
	}
}

// Errors end all ranks with the exit code of s4d-fast, and are printed once.
func TestErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o666))
	run := t.TempDir()
	plain(t, run)
	for _, c := range []struct {
		ranks, code int
		want        string
		args        []string
	}{
		{2, 2, `task "nothing": expected one of`, []string{"train", "nothing"}},
		{2, 2, "unknown flag --nothing", []string{"train", "--nothing"}},
		{2, 2, `level "nothing"`, []string{"--level", "nothing", "train"}},
		{4, 2, "train.shards 2: expected at least 4, the number of ranks", []string{"train", "delay", "--set", "train.shards=2"}},
		{2, 2, "is not a folder", []string{"train", "delay", "--out", file}},
		{2, 2, "--patience -1s: expected at least 0", []string{"train", "--patience=-1s"}},
		{2, 2, "open " + file + "2: no such file", []string{"train", "--config", file + "2"}},
		{2, 3, "model: open " + file + "2: no such file", []string{"train", "--from", file + "2"}},
		{2, 3, "model: " + file + ": ", []string{"train", "--from", file}},
		{2, 2, `task "scifar": the configuration is for task "delay"`, []string{"train", "scifar", "--out", run, "--resume"}},
		{2, 2, "--preset lru: expected none with --resume", []string{"train", "--preset", "lru", "--out", run, "--resume"}},
	} {
		args := c.args
		if len(args) > 3 {
			for _, s := range settings[:len(settings)-1] {
				args = append(args, "--set", s)
			}
		}
		out, err := command(t, c.ranks, "", args...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || strings.Count(out, c.want) != 1 {
			t.Errorf("%v: error %v, expected exit code %d and one message with %q, output\n%s", c.args, err, c.code, c.want, out)
		}
	}
}

// Rank 0 prints the help.
func TestHelp(t *testing.T) {
	out, err := command(t, 2, "", "train", "--help")
	if err != nil || strings.Count(out, "Usage: s4d-fast-mpi train") != 1 {
		t.Errorf("error %v, output\n%s", err, out)
	}
}
