//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// appears waits until a file or folder exists, at most a minute.
func appears(path string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

// killed starts or resumes a run. It waits until a file exists in the folder of the run (not if the
// name is ""), then for the time after, and sends the signal, and again after each time in more. It
// reports whether the run completed nevertheless, because the signal came too late, and the exit
// code.
func killed(t *testing.T, out string, epochs int, s syscall.Signal, file string, after time.Duration, more ...time.Duration) (late bool, code int, output string) {
	t.Helper()
	var args []string
	if _, err := os.Stat(filepath.Join(out, "config.toml")); err == nil {
		args = []string{"--resume"}
	}
	cmd := process(t, nil, trial(out, epochs, args...)...)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	must.Do(t, cmd.Start())
	if file != "" {
		appears(filepath.Join(out, filepath.FromSlash(file)))
	}
	timer := time.AfterFunc(after, func() {
		_ = cmd.Process.Signal(s)
		for _, wait := range more {
			time.Sleep(wait)
			_ = cmd.Process.Signal(s)
		}
	})
	code = stopped(t, cmd)
	timer.Stop()
	return code == exitOK, code, text.String()
}

// adapt adjusts the longest time before a signal to the speed of the machine, so that about a third
// of the signals come too late.
func adapt(takes *time.Duration, late bool) {
	if late {
		*takes = *takes * 7 / 10
	} else {
		*takes = *takes * 12 / 10
	}
}

// receiveHangups lets the processes that a test starts receive SIGHUP, even if this process was
// started to ignore it.
func receiveHangups(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
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

// eachStep reports whether a run has saved a checkpoint after each step: if it has two, they are at
// most one step apart.
func eachStep(t *testing.T, what, out string) bool {
	t.Helper()
	last, _ := savedIn(out, "checkpoint")
	before, whole := savedIn(out, "previous")
	if whole && last.Step-before.Step > 1 {
		t.Errorf("%s: the last two checkpoints have %d and %d complete steps, expected a difference of at most 1", what, last.Step, before.Step)
		return false
	}
	return true
}

// killedRuns kills runs at random moments, once or twice, and resumes them. It returns how many of
// the cases resume with no reported step lost, and end with the bits of a run that was not killed.
// Every second run is killed while it trains, half of these after an epoch. The others are killed
// at any moment of the process.
func killedRuns(t *testing.T, cases, epochs int, want string, takes time.Duration, seed uint64) (held int) {
	t.Helper()
	draw, ended, longest := rand.New(rand.NewPCG(19, seed)), 0, [2]time.Duration{takes, takes}
	for i := 0; i < cases; {
		out := filepath.Join(scratch(t), "run")
		after := func(k int) time.Duration { return time.Duration(draw.Float64() * float64(longest[k])) }
		file := [...]string{1: "last/checkpoint.safetensors", 3: "best.safetensors"}[i%4]
		late, code, text := killed(t, out, epochs, syscall.SIGKILL, file, after(i%2))
		late = late || file != "" && resumePoint(out).Epoch == epochs // trained to its end
		adapt(&longest[i%2], late)
		steps := reported(text)
		if !late && i%3 == 1 { // twice in a row
			steps = max(steps, resumePoint(out).Step)
			late, code, text = killed(t, out, epochs, syscall.SIGKILL, "", after(0))
			adapt(&longest[0], late)
			steps = max(steps, reported(text))
		}
		if late {
			if ended++; ended > 10*cases {
				t.Fatalf("%d of %d signals came after the end of a run or of its training", ended, ended+i)
			}
			continue
		}
		if i%3 == 2 {
			future(t, out)
		}
		i++
		what := fmt.Sprint("killed run ", i)
		if code != -1 {
			t.Errorf("exit code %d, expected that SIGKILL ends the process: %s", code, text)
		} else if eachStep(t, what, out) && sameEnd(t, what, out, steps, epochs, want) {
			held++
		}
		must.Do(t, os.RemoveAll(out))
	}
	return held
}

// A run that is killed at any moment, once or twice, and resumed, ends with the bits of a run that
// was not killed.
func TestKill(t *testing.T) {
	const epochs = 16
	want, takes := uninterrupted(t, epochs)
	cases := must.Cases(6, 200)
	held := killedRuns(t, cases, epochs, want, takes, 1)
	must.Tally(t, "a run that is killed at any moment resumes to the same bits", cases, held)
}

// firstCheckpoint returns the size of the temporary file of a run's first checkpoint, or −1 if the
// run has not begun to write it, or has written it.
func firstCheckpoint(out string) int64 {
	const name = "checkpoint.safetensors"
	dir := filepath.Join(out, "last")
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if of, ok := atomicfile.TemporaryOf(f.Name()); ok && of == name {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				break // this is the second one
			}
			if info, err := f.Info(); err == nil {
				return info.Size()
			}
		}
	}
	return -1
}

// A run is killed while it writes its first checkpoint: the temporary file exists, and has not been
// renamed. The run is on a disk: the longer the sync of this file takes, the more kills hit. On a
// fast disk most kills miss.
func TestKillAtFirstCheckpoint(t *testing.T) {
	const epochs = 2
	want, _ := uninterrupted(t, epochs)
	cases, held, missed, filled := must.Cases(3, 40), 0, 0, 0
	for i := 0; i < cases; {
		out := filepath.Join(t.TempDir(), "run")
		cmd := process(t, nil, trial(out, epochs)...)
		must.Do(t, cmd.Start())
		least := int64(i % 2) // bytes
		for began := time.Now(); firstCheckpoint(out) < least && time.Since(began) < time.Minute; {
			if _, err := os.Stat(filepath.Join(out, "last", "checkpoint.safetensors")); err == nil {
				break // too late
			}
		}
		_ = cmd.Process.Kill()
		stopped(t, cmd)
		size := firstCheckpoint(out)
		if size < 0 {
			if missed++; missed > 300*cases {
				t.Fatalf("%d of %d kills were not during the first checkpoint", missed, missed+i)
			}
			continue
		}
		i++
		if size > 0 {
			filled++
		}
		if sameEnd(t, fmt.Sprintf("killed when the temporary file had %d bytes", size), out, 0, epochs, want) {
			held++
		}
	}
	t.Logf("%d kills during the first checkpoint, %d of them when its file had content; %d other kills", cases, filled, missed)
	must.Tally(t, "a run that is killed during its first checkpoint resumes to the same bits", cases, held)
}

// SIGINT, SIGTERM and SIGHUP end a run with a checkpoint and the signal's exit code. A second
// SIGINT or SIGTERM may end it at once. With one processor, a run may take half a second to notice
// a signal: if successive runs end before, the next ones are longer.
func TestSignals(t *testing.T) {
	epochs, row := 16, 0
	want, takes := uninterrupted(t, epochs)
	receiveHangups(t)
	cases := must.Cases(3, 67)
	draw, held, ended := rand.New(rand.NewPCG(19, 2)), 0, 0
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for _, s := range signals {
		for i := 0; i < cases; {
			out := filepath.Join(scratch(t), "run")
			var again []time.Duration
			if i%3 == 1 { // twice in a row
				again = []time.Duration{time.Duration(draw.Float64() * float64(5*time.Millisecond))}
			}
			late, code, text := killed(t, out, epochs, s, "config.toml", time.Duration(draw.Float64()*float64(takes)), again...)
			if adapt(&takes, late); late {
				if ended++; ended > 10*cases*len(signals) {
					t.Fatalf("%v: %d runs ended before the signal", s, ended)
				}
				if row++; row == 5 {
					epochs, row = 2*epochs, 0
					want, takes = uninterrupted(t, epochs)
				}
				continue
			}
			i, row = i+1, 0
			atOnce := code == -1 && again != nil && s != syscall.SIGHUP
			const says = "stopped after step "
			stop := fmt.Sprintf("%s%d;", says, resumePoint(out).Step)
			if code != 128+int(s) && !atOnce {
				t.Errorf("%v: exit code %d, expected %d: %s", s, code, 128+int(s), text)
			} else if strings.Contains(text, says) && !strings.Contains(text, stop) {
				t.Errorf("%v: expected %q, the step of the checkpoint: %s", s, stop, text)
			} else if sameEnd(t, fmt.Sprint(s, " ", i), out, reported(text), epochs, want) {
				held++
			}
			must.Do(t, os.RemoveAll(out))
		}
	}
	must.Tally(t, "a run that SIGINT, SIGTERM or SIGHUP ends resumes to the same bits", cases*len(signals), held)
}

// A hang-up of the terminal ends a run with a checkpoint, also when more hang-ups follow. Under
// nohup, a run ignores hang-ups and continues.
func TestHangup(t *testing.T) {
	const epochs = 1 << 20
	uninterrupted(t, 1)
	receiveHangups(t)
	for _, kind := range []string{"once", "many times", "under nohup"} {
		out := filepath.Join(scratch(t), "run")
		var before []string
		expected := 128 + int(syscall.SIGHUP)
		if kind == "under nohup" {
			before, expected = []string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, 128+int(syscall.SIGTERM)
		}
		cmd := process(t, before, trial(out, epochs)...)
		steps := []any{"epoch=1 ", func() {
			must.Do(t, cmd.Process.Signal(syscall.SIGHUP))
			if kind == "many times" {
				go func() { // until the process has been waited for
					for cmd.Process.Signal(syscall.SIGHUP) == nil {
						runtime.Gosched()
					}
				}()
			}
		}}
		if kind == "under nohup" {
			steps = append(steps, "epoch=50 ", func() { must.Do(t, cmd.Process.Signal(syscall.SIGTERM)) })
		}
		text := atWord(t, cmd, steps...)
		must.Equal(t, stopped(t, cmd), expected, "exit code after SIGHUP %s, after %s", kind, text)
		contains(t, "stderr", text.String(), fmt.Sprintf("stopped after step %d; resume with: ", resumePoint(out).Step))
	}
}
