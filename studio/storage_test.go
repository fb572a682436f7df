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
// one, with its description.
func TestDetectorStorage(t *testing.T) {
	older := must.Get(tonemodel.New())(t)
	newer := *older
	newer.Meta.Task = "newer"
	save := func(f *memfs.FS, m *model.Model) error { return onDisk(f).save(m, &detector{From: m.Meta.Task}) }
	check := func(what string, f *memfs.FS, saved error, first bool) {
		p := onDisk(f)
		m, err := p.model()
		if first && saved != nil && err != nil && strings.Contains(err.Error(), "no detector yet") {
			m, err = older, p.loadDetector()
			p.status.Detector = &detector{From: older.Meta.Task}
		} else if err == nil {
			err = p.loadDetector()
		}
		if err != nil {
			t.Errorf("%s: the detector cannot be read: %v", what, err)
			return
		}
		switch is := p.status.Detector.From; {
		case is != m.Meta.Task:
			t.Errorf("%s: the model is %q and the description %q", what, m.Meta.Task, is)
		case saved == nil && is != newer.Meta.Task:
			t.Errorf("%s: saved, but the model is %q", what, is)
		default:
			if err := save(f, &newer); err != nil {
				t.Errorf("%s: cannot be saved again: %v", what, err)
			}
		}
	}
	used := memfs.New()
	must.Do(t, save(used, older))
	for i, start := range []*memfs.FS{memfs.New(), used} {
		first := i == 0
		memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
			err := save(f, &newer)
			if !fault.Over() {
				return
			}
			if err != nil && !errors.Is(err, fault.Err) {
				t.Errorf("%v: error %v, expected the cause", fault, err)
			}
			for loss := memfs.Everything; loss < memfs.Torn+2; loss++ {
				check(fault.String()+", then a power cut", f.PowerCut(loss), err, first)
			}
			check(fault.String(), f, err, first)
		})
		memfs.EachPowerCut(start, 5, func(f *memfs.FS) { must.Do(t, save(f, &newer)) }, func(after *memfs.FS, when string) {
			check(when, after, fs.ErrInvalid, first)
		})
	}
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
	check := func(what string, f *memfs.FS, written error) {
		got, err := atomicfile.Files{FS: f}.ReadFile(name, 1<<20)
		if !(errors.Is(err, fs.ErrNotExist) && written != nil || err == nil && string(got) == want) {
			t.Errorf("%s: Write returned %v; the file has %d bytes, expected %d (%v)", what, written, len(got), len(want), err)
		}
	}
	memfs.EachFault(memfs.New(), memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
		err := write(f)
		if !fault.Over() {
			return
		}
		for loss := memfs.Everything; loss < memfs.Torn+2; loss++ {
			check(fault.String(), f.PowerCut(loss), err)
		}
	})
	memfs.EachPowerCut(memfs.New(), 5, func(f *memfs.FS) { must.Do(t, write(f)) }, func(after *memfs.FS, when string) {
		check(when, after, fs.ErrInvalid)
	})
}
