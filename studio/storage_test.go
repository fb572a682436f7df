package studio

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// onDisk returns a project on a file system in memory.
func onDisk(f *memfs.FS) *project {
	return &project{name: "p", disk: atomicfile.Files{FS: f}, changed: make(chan struct{})}
}

// A detector whose files cannot be written at any step, or are cut off, is the older or the newer
// one. After an error it is the older one, with its description.
func TestDetectorStorage(t *testing.T) {
	older := must.Get(tonemodel.New())(t)
	newer := *older
	newer.Meta.Task = "newer"
	save := func(f *memfs.FS, m *model.Model) error { return onDisk(f).save(m, &detector{From: m.Meta.Task}) }
	tried, held := 0, 0
	check := func(what string, f *memfs.FS, saved error, whole, first bool) {
		tried++
		p := onDisk(f)
		m, err := p.model()
		if first && err != nil && strings.Contains(err.Error(), "no detector yet") {
			if saved == nil {
				t.Errorf("%s: the detector is missing", what)
				return
			}
			m, err = older, nil
		}
		if err != nil {
			t.Errorf("%s: the model cannot be read: %v", what, err)
			return
		}
		described := p.loadDetector()
		is := "none"
		if p.status.Detector != nil {
			is = p.status.Detector.From
		}
		switch {
		case saved == nil && (m.Meta.Task != newer.Meta.Task || is != newer.Meta.Task):
			t.Errorf("%s: saved, but the model is %q and the description %q (%v)", what, m.Meta.Task, is, described)
		case saved != nil && whole && (m.Meta.Task != older.Meta.Task || described != nil || !first && is != older.Meta.Task || first && is != "none"):
			t.Errorf("%s: not saved (%v), but the model is %q and the description %q (%v)", what, saved, m.Meta.Task, is, described)
		case described == nil && is != "none" && is != m.Meta.Task:
			t.Errorf("%s: the model is %q and the description %q", what, m.Meta.Task, is)
		default:
			if err := save(f, &newer); err != nil {
				t.Errorf("%s: cannot be saved again: %v", what, err)
				return
			}
			held++
		}
	}
	used := memfs.New()
	must.Do(t, save(used, older))
	for _, start := range []*memfs.FS{memfs.New(), used} {
		first := start != used
		memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
			err := save(f, &newer)
			f.Fault = nil
			if err != nil && !errors.Is(err, fault.Err) {
				t.Errorf("%v: error %v, expected the cause", fault, err)
			}
			for loss := memfs.Everything; loss < memfs.Torn+2; loss++ {
				check(fault.String()+", then a power cut", f.PowerCut(loss), err, false, first)
			}
			check(fault.String(), f, err, fault.Mode == memfs.Once, first)
		})
		memfs.EachPowerCut(start, 5, func(f *memfs.FS) { must.Do(t, save(f, &newer)) }, func(after *memfs.FS, when string) {
			check(when, after, fs.ErrInvalid, false, first)
		})
	}
	must.Tally(t, "a detector of studio whose write fails, or is cut off, at any step is the older or the newer one", tried, held)
}

// A recording that was written outlasts a power cut, with its folder. One whose write fails leaves
// no file that counts as a recording.
func TestRecordingStorage(t *testing.T) {
	const name = "_noise/clip-001.wav"
	sound := []float32{0, 0.5, -0.5}
	write := func(f *memfs.FS) error {
		p := onDisk(f)
		if err := p.disk.MkdirAll("_noise", 0o777); err != nil {
			return err
		}
		return p.writeWAV(name, sound)
	}
	done := memfs.New()
	must.Do(t, write(done))
	want := string(must.Get(atomicfile.Files{FS: done}.ReadFile(name, 1<<20))(t))
	tried, held := 0, 0
	check := func(what string, f *memfs.FS, written error) {
		tried++
		got, err := atomicfile.Files{FS: f}.ReadFile(name, 1<<20)
		if errors.Is(err, fs.ErrNotExist) && written != nil || err == nil && string(got) == want {
			held++
			return
		}
		t.Errorf("%s: Write returned %v; the file has %d bytes, expected %d (%v)", what, written, len(got), len(want), err)
	}
	memfs.EachFault(memfs.New(), memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
		err := write(f)
		f.Fault = nil
		for loss := memfs.Everything; loss < memfs.Torn+2; loss++ {
			check(fault.String(), f.PowerCut(loss), err)
		}
	})
	memfs.EachPowerCut(memfs.New(), 5, func(f *memfs.FS) { must.Do(t, write(f)) }, func(after *memfs.FS, when string) {
		check(when, after, fs.ErrInvalid)
	})
	must.Tally(t, "a recording of studio whose write fails, or is cut off, at any step is whole or absent", tried, held)
}
