// Package straced makes system calls of programs fail in tests, with strace.
package straced

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Fault is an error of a system call.
type Fault struct {
	Call    string // such as "fsync"
	Errno   string // such as "EIO"
	Message string // expected in the program's error; empty if the program may ignore the error
	Short   int    // number of cases in the short form
}

// Trial runs a program in a new folder until it ends. Its command line begins with prefix: strace
// and its options. It returns the folder, and held, which reports whether the promise holds after a
// fault.
type Trial func(prefix []string) (folder string, held func(what string, f Fault) bool)

// attempts is the number of trials at a position.
const attempts = 4

// Inject tries each fault in a trial's folder at some positions, or at all of them in the long
// form. A position is the number of a call of this name in its thread. strace makes the calls at
// this position fail in all threads. If in no attempt at a position calls failed only inside the
// folder, the position is logged and is not a case. A fault that happens at no position is an
// error. Inject returns the number of faults that happened, and of those after which the promise
// held. It skips the test where strace cannot make calls fail.
func Inject(t *testing.T, faults []Fault, try Trial) (tried, held int) {
	t.Helper()
	if text, err := exec.Command("strace", "-D", "-f", "-e", "trace=none", "-e", "inject=fsync:error=EIO:when=1", "true").CombinedOutput(); err != nil {
		t.Skipf("strace: %v %s", err, bytes.TrimSpace(text))
	}
	file := filepath.Join(t.TempDir(), "log")
	var calls []string
	for _, f := range faults {
		calls = append(calls, f.Call)
	}
	// With -D a signal to the process that the trial starts is a signal to the program.
	prefix := []string{"strace", "-D", "-f", "-y", "-s", "0", "-o", file, "-e", "trace=" + strings.Join(calls, ",")}
	log := func() string { return string(must.Get(os.ReadFile(file))(t)) }
	folder, _ := try(prefix)
	positions := callsIn(log(), folder)
	for _, fault := range faults {
		places := positions[fault.Call]
		if len(places) == 0 {
			t.Errorf("the program makes no call of %s in its folder", fault.Call)
		}
		n, made := must.Cases(min(fault.Short, len(places)), len(places)), 0
		for i := range n { // one position of each nth that can fail, from its middle: the first ones often cannot
			part, before := places[i*len(places)/n:(i+1)*len(places)/n], made
			for k := range attempts * len(part) {
				inject := fmt.Sprintf("%s:error=%s:when=%d", fault.Call, fault.Errno, part[(len(part)/2+k/attempts)%len(part)])
				folder, check := try(append(slices.Clone(prefix), "-e", "inject="+inject))
				if failsInside(log(), folder) {
					if made++; check(inject, fault) {
						held++
					}
					break
				}
			}
			if made == before {
				t.Logf("%s %s: no case at the positions %v: in %d attempts at each, no call failed, or one outside the folder failed", fault.Call, fault.Errno, part, attempts)
			}
		}
		t.Logf("%s %s: %d cases, of %d positions", fault.Call, fault.Errno, made, len(places))
		if made == 0 {
			t.Errorf("%s fails with %s at none of the positions %v", fault.Call, fault.Errno, places)
		}
		tried += made
	}
	return tried, held
}

// failsInside reports whether strace has made calls fail, all of them in a folder. It is false if
// no thread has made that many calls, or if a call outside the folder has failed too. Each run
// distributes the calls differently among the threads.
func failsInside(log, dir string) bool {
	failures, inside, began := 0, 0, map[string]string{}
	for line := range strings.Lines(log) {
		thread, call, _ := strings.Cut(line, " ")
		if strings.Contains(call, " resumed>") { // the rest of a call that another thread interrupted
			call = began[thread] + call
		}
		began[thread] = call
		if strings.Contains(call, "(INJECTED)") {
			failures++
			if strings.Contains(call, dir) {
				inside++
			}
		}
	}
	return failures > 0 && inside == failures
}

// callsIn returns the positions of system calls that name a path, among the calls of this name of
// the same thread, from the output of strace -f -y.
func callsIn(log, path string) map[string][]int {
	count, positions := map[string]int{}, map[string][]int{}
	for line := range strings.Lines(log) {
		thread, rest, _ := strings.Cut(line, " ")
		call, _, ok := strings.Cut(strings.TrimSpace(rest), "(")
		if !ok || strings.ContainsAny(call, " <+-") {
			continue // the end of a call, or a signal
		}
		count[thread+" "+call]++
		if n := count[thread+" "+call]; strings.Contains(line, path) && !slices.Contains(positions[call], n) {
			positions[call] = append(positions[call], n)
		}
	}
	for _, list := range positions {
		slices.Sort(list)
	}
	return positions
}
