package memfs

import (
	"fmt"
	"slices"
	"syscall"
)

// Mode selects which operations fail, with the error EIO.
type Mode string

// The modes of EachFault.
const (
	Once Mode = "once"          // one operation
	Dead Mode = "from there on" // it and all later ones, as on a disk that breaks
)

// Modes are all modes.
var Modes = []Mode{Once, Dead}

// changing are the operations after which a power cut can have another result.
var changing = []string{"Create", "Write", "Sync", "Mkdir", "Rename", "Link", "Remove"}

// Fault is the operation that fails.
type Fault struct {
	Mode      Mode
	N         int    // its number
	Operation string // its name; "": the attempt performed fewer operations
	Path      string
	Err       error

	fs *FS
}

// Over ends the fault: no further operation fails. It reports whether one has failed. If none has,
// the attempt is not a case of the promise that a test checks.
func (f *Fault) Over() bool {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.Fault = nil
	return f.Operation != ""
}

func (f *Fault) String() string {
	return fmt.Sprintf("operation %d (%s of %s) fails, %s", f.N, f.Operation, f.Path, f.Mode)
}

// EachFault calls try with a copy of start on which operation 1 fails, then operation 2, and so on
// until an attempt has fewer operations. try calls fault.Over when its program has ended. In the
// last attempt, Over reports false: try must not count it. EachFault repeats this for each mode.
func EachFault(start *FS, modes []Mode, try func(f *FS, fault *Fault)) {
	for _, mode := range modes {
		for n := 1; ; n++ {
			f := start.PowerCut(Nothing)
			fault := &Fault{Mode: mode, N: n, Err: syscall.EIO, fs: f}
			f.Fault = func(k int, operation, path string) error {
				if k < n || mode == Once && k > n {
					return nil
				}
				if k == n {
					fault.Operation, fault.Path = operation, path
				}
				return fault.Err
			}
			try(f, fault)
			if !fault.Over() {
				break
			}
		}
	}
}

// EachPowerCut runs a program on a copy of start. For every operation that changes the file system,
// it calls check with the file system after a power cut: once for each loss, and draws times for
// Torn.
func EachPowerCut(start *FS, draws int, run func(f *FS), check func(after *FS, when string)) {
	type moment struct {
		f    *FS
		when string
	}
	var moments []moment
	f := start.PowerCut(Nothing)
	f.After = func(n int, operation string) {
		if !slices.Contains(changing, operation) {
			return
		}
		for loss := Everything; loss < Torn+Loss(draws); loss++ {
			moments = append(moments, moment{f.PowerCut(loss), fmt.Sprintf("power cut after operation %d (%s), loss %d", n, operation, loss)})
		}
	}
	run(f)
	f.After = nil
	for _, m := range moments {
		check(m.f, m.when)
	}
}
