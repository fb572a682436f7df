package events_test

import (
	"io"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// A file with a model or a snapshot, whose write fails at any step or is cut off, can be read, and
// has the older or the newer content.
func TestStorage(t *testing.T) {
	s := tonemodel.Words()
	r := recognizer(t, events.Defaults())
	d := r.NewDetector()
	process(t, d, s.Samples[:3000])
	early := d.Snapshot()
	process(t, d, s.Samples[3000:5000])
	late := d.Snapshot()
	m := must.Get(tonemodel.New())(t)
	other := *m
	other.Meta.Task = "another"
	snapshot := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(b); return err }
	}
	network := func(m *model.Model) func(io.Writer) error {
		return func(w io.Writer) error { _, err := m.WriteTo(w); return err }
	}
	for promise, c := range map[string]struct {
		older, newer func(io.Writer) error
		read         func(r io.Reader) (newer bool, err error)
	}{
		"a snapshot whose write fails, or is cut off, at any step is the older or the newer one": {snapshot(early), snapshot(late), func(file io.Reader) (bool, error) {
			b, err := io.ReadAll(file)
			if err == nil {
				err = r.NewDetector().Restore(b)
			}
			return string(b) == string(late), err
		}},
		"a model file whose write fails, or is cut off, at any step is the older or the newer one": {network(m), network(&other), func(file io.Reader) (bool, error) {
			got, err := model.Read(file)
			return err == nil && got.Meta.Task == other.Meta.Task, err
		}},
	} {
		tried, held := 0, 0
		check := func(what string, f *memfs.FS, written error) {
			tried++
			file, err := atomicfile.Files{FS: f}.Open("file")
			newer := false
			if err == nil {
				newer, err = c.read(file)
			}
			if err != nil || written == nil && !newer {
				t.Errorf("%s: Write returned %v; the newer content %v, error %v", what, written, newer, err)
				return
			}
			held++
		}
		start := memfs.New()
		must.Do(t, atomicfile.Files{FS: start}.Write("file", 0o600, c.older))
		memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
			err := atomicfile.Files{FS: f}.Write("file", 0o600, c.newer)
			f.Fault = nil
			for loss := memfs.Everything; loss < memfs.Torn+3; loss++ {
				check(fault.String(), f.PowerCut(loss), err)
			}
		})
		memfs.EachPowerCut(start, 10, func(f *memfs.FS) {
			must.Do(t, atomicfile.Files{FS: f}.Write("file", 0o600, c.newer))
		}, func(after *memfs.FS, when string) { check(when, after, io.ErrUnexpectedEOF) })
		must.Tally(t, promise, tried, held)
	}
}
