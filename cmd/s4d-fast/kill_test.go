//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// killed starts a run, or resumes it, and sends it a signal after a time. It reports whether the
// signal came before the end of the process, and the exit code.
func killed(t *testing.T, out string, epochs int, s syscall.Signal, after time.Duration) (inTime bool, code int, output string) {
	t.Helper()
	var more []string
	if _, err := os.Stat(filepath.Join(out, "config.toml")); err == nil {
		more = []string{"--resume"}
	}
	cmd := process(t, nil, trial(out, epochs, more...)...)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	must.Do(t, cmd.Start())
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(s) })
	code = stopped(t, cmd)
	timer.Stop()
	return code != exitOK, code, text.String()
}

// future sets the times of all files of a run far ahead of the clock, as after the clock was set
// back.
func future(t *testing.T, out string) {
	t.Helper()
	when := time.Now().AddDate(50, 0, 0)
	_ = filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, when, when)
		}
		return err
	})
}

// killedRuns kills runs at random moments, once or twice, and resumes them. It returns how many of
// the cases end with the bits of a run that was not killed.
func killedRuns(t *testing.T, cases, epochs int, want string, takes time.Duration, seed uint64) (held int) {
	t.Helper()
	draw, late := rand.New(rand.NewPCG(19, seed)), 0
	for i := 0; i < cases; {
		out := filepath.Join(scratch(t), "run")
		after := func() time.Duration { return time.Duration(draw.Float64() * float64(takes)) }
		inTime, code, text := killed(t, out, epochs, syscall.SIGKILL, after())
		if inTime && i%3 == 1 { // twice in a row
			inTime, code, text = killed(t, out, epochs, syscall.SIGKILL, after())
		}
		if i%3 == 2 {
			future(t, out)
		}
		if !inTime { // the run had ended
			if late++; late > cases {
				t.Fatalf("%d of %d runs ended before the signal", late, late+i)
			}
			continue
		}
		i++
		if code != -1 {
			t.Errorf("exit code %d, expected that SIGKILL ends the process: %s", code, text)
		} else if sameEnd(t, fmt.Sprint("killed run ", i), out, epochs, want) {
			held++
		}
		must.Do(t, os.RemoveAll(out))
	}
	return held
}

// A run that is killed at any moment, once or twice, and resumed, ends with the bits of a run that
// was not killed.
func TestKill(t *testing.T) {
	const epochs = 4
	want, takes := uninterrupted(t, epochs)
	cases := must.Cases(6, 200)
	held := killedRuns(t, cases, epochs, want, takes, 1)
	must.Tally(t, "a run that is killed at any moment resumes to the same bits", cases, held)
}

// A run is killed during its first checkpoint: as soon as a file of the run exists.
func TestKillAtFirstCheckpoint(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	cases, held, late := must.Cases(3, 40), 0, 0
	for i := 0; i < cases; {
		out := filepath.Join(scratch(t), "run")
		wait := []string{"config.toml", "last", "last/checkpoint.safetensors"}[i%3]
		cmd := process(t, nil, trial(out, epochs)...)
		must.Do(t, cmd.Start())
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(wait))); err == nil {
				break
			}
		}
		_ = cmd.Process.Kill()
		if stopped(t, cmd) != -1 { // the run had ended
			if late++; late > cases {
				t.Fatalf("%d of %d runs ended before the signal", late, late+i)
			}
			continue
		}
		i++
		if sameEnd(t, "killed when "+wait+" existed", out, epochs, want) {
			held++
		}
	}
	must.Tally(t, "a run that is killed during its first checkpoint resumes to the same bits", cases, held)
}

// SIGINT, SIGTERM and SIGHUP end a run with a checkpoint and the signal's exit code.
func TestSignals(t *testing.T) {
	const epochs = 4
	want, takes := uninterrupted(t, epochs)
	cases := must.Cases(2, 20)
	draw, held, late := rand.New(rand.NewPCG(19, 2)), 0, 0
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for _, s := range signals {
		for i := 0; i < cases; {
			out := filepath.Join(scratch(t), "run")
			inTime, code, text := killed(t, out, epochs, s, time.Duration(draw.Float64()*float64(takes)))
			if !inTime || code == -1 { // the run had ended, or the handler was not installed
				if late++; late > 10*cases*len(signals) {
					t.Fatalf("%d signals came before or after the training", late)
				}
				continue
			}
			i++
			if code != 128+int(s) {
				t.Errorf("%v: exit code %d, expected %d: %s", s, code, 128+int(s), text)
			} else if sameEnd(t, fmt.Sprint(s, " ", i), out, epochs, want) {
				held++
			}
		}
	}
	must.Tally(t, "a run that SIGINT, SIGTERM or SIGHUP ends resumes to the same bits", cases*len(signals), held)
}

// A hang-up of the terminal ends a run with a checkpoint. Under nohup, which ignores it, the run
// goes on.
func TestHangup(t *testing.T) {
	const epochs = 1 << 20
	uninterrupted(t, 1)
	hangups := make(chan os.Signal, 1) // if these tests ignore SIGHUP, the commands they start must not inherit that
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, nohup := range []bool{false, true} {
		out := filepath.Join(scratch(t), "run")
		var before []string
		expected := 128 + int(syscall.SIGHUP)
		if nohup {
			before, expected = []string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, 128+int(syscall.SIGTERM)
		}
		cmd := process(t, before, trial(out, epochs)...)
		text := atWord(t, cmd, "epoch=1 ", func() {
			must.Do(t, cmd.Process.Signal(syscall.SIGHUP))
		}, "epoch=50 ", func() { // not reached without nohup
			must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
		})
		must.Equal(t, stopped(t, cmd), expected, "exit code with nohup %v, after %s", nohup, text)
		contains(t, "stderr", text.String(), "resume with: ")
	}
}
