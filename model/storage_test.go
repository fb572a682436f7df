package model

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A model file whose write fails at any step, or is cut off, is the older or the newer one, also
// after a power cut.
func TestSaveStorage(t *testing.T) {
	const path = "m.safetensors"
	older, newer := mustNew(t, tiny(), 1), mustNew(t, tiny(), 2)
	want := []string{string(encode(t, older)), string(encode(t, newer))}
	save := func(f *memfs.FS, m *Model) error { return m.save(atomicfile.Files{FS: f}, path) }
	tried, held := 0, 0
	check := func(what string, f *memfs.FS, saved error) {
		tried++
		got, err := atomicfile.Files{FS: f}.ReadFile(path, 1<<20)
		if s := string(got); err != nil || s != want[1] && (saved == nil || s != want[0]) {
			t.Errorf("%s: save returned %v, but the file of %d bytes is another one (%v)", what, saved, len(s), err)
			return
		}
		held++
	}
	start := memfs.New()
	must.Do(t, save(start, older))
	memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
		err := save(f, newer)
		if !fault.Over() {
			return
		}
		if err != nil && (!errors.Is(err, fault.Err) || !strings.HasPrefix(err.Error(), "model: "+path+": ")) {
			t.Errorf("%v: error %v, expected the cause, with the path", fault, err)
		}
		for loss := memfs.Everything; loss < memfs.Torn+3; loss++ {
			check(fault.String(), f.PowerCut(loss), err)
		}
	})
	memfs.EachPowerCut(start, 10, func(f *memfs.FS) { must.Do(t, save(f, newer)) }, func(after *memfs.FS, when string) {
		check(when, after, fs.ErrInvalid)
	})
	must.Tally(t, "a model file whose write fails, or is cut off, at any step is the older or the newer one", tried, held)
}
