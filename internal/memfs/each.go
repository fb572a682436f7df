package memfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
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
var changing = []string{"Create", "Write", "Sync", "Mkdir", "Rename", "Remove"}

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
	var checks []func()
	f := start.PowerCut(Nothing)
	f.After = func(n int, operation string) {
		if !slices.Contains(changing, operation) {
			return
		}
		for loss := Everything; loss < Torn+Loss(draws); loss++ {
			after := f.PowerCut(loss)
			checks = append(checks, func() {
				check(after, fmt.Sprintf("power cut after operation %d (%s), loss %d", n, operation, loss))
			})
		}
	}
	run(f)
	f.After = nil
	for _, check := range checks {
		check()
	}
}

// Loss selects which of the data that were not synced a power cut loses.
type Loss int

// The losses. Each value above Torn is Torn with another random seed.
const (
	Everything Loss = iota // all writes and all changes of folders
	Nothing                // none, as if only the process had ended; everything is then stored
	Torn                   // a random part of the changes and of what was written
)

// PowerCut returns the file system as it would be after a power cut now. f does not change.
func (f *FS) PowerCut(loss Loss) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	draw := rand.New(rand.NewPCG(uint64(loss), uint64(f.n)))
	left := maps.Clone(f.stored)
	for _, c := range f.changes {
		if loss == Nothing || loss >= Torn && draw.IntN(2) == 0 {
			left.apply(c)
		}
	}
	after := &FS{names: names{}}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if name != "." && after.names[path.Dir(name)] == nil {
			continue // in a folder that is lost
		}
		data := left[name].remains(loss, draw)
		after.names[name] = &node{mode: left[name].mode, data: data, stored: data, synced: len(data)}
	}
	after.stored = maps.Clone(after.names)
	return after
}

// remains returns what remains of a file.
func (n *node) remains(loss Loss, draw *rand.Rand) []byte {
	written := n.data[n.synced:]
	switch {
	case loss == Nothing:
		return n.data
	case loss < Torn || len(written) == 0 || draw.IntN(3) == 0:
		return n.stored
	}
	content := n.after(written[:draw.IntN(len(written)+1)])
	if draw.IntN(2) == 0 { // the length is stored, the bytes are not
		clear(content[n.synced:])
	}
	return content
}
