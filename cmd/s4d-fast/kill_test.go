//go:build unix

package main

import (
	"fmt"
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

// A run that is killed at any moment, once or twice, and resumed, ends with the bits of a run that
// was not killed, and no reported step is lost. Every second run is killed while it trains.
func TestKill(t *testing.T) {
	const epochs = 16
	want, takes := uninterrupted(t, epochs)
	cases, ended := must.Cases(6, 200), 0
	draw, longest := rand.New(rand.NewPCG(19, 1)), [2]time.Duration{takes, takes}
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
		i++
		must.Equal(t, code, -1, "exit code of a process that SIGKILL ends: %s", text)
		sameEnd(t, fmt.Sprint("killed run ", i), out, steps, epochs, want)
		must.Do(t, os.RemoveAll(out))
	}
}

// SIGINT, SIGTERM and SIGHUP end a run with a checkpoint and the signal's exit code. A second
// SIGINT or SIGTERM may end it at once. With one processor, a run may take half a second to notice
// a signal: if successive runs end before, the next ones are longer.
func TestSignals(t *testing.T) {
	epochs, row := 16, 0
	want, takes := uninterrupted(t, epochs)
	receiveHangups(t)
	cases := must.Cases(3, 67)
	draw, ended := rand.New(rand.NewPCG(19, 2)), 0
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
			} else {
				sameEnd(t, fmt.Sprint(s, " ", i), out, reported(text), epochs, want)
			}
			must.Do(t, os.RemoveAll(out))
		}
	}
}
