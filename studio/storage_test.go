package studio

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/faultfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/model"
)

// onDisk returns a project in the folder of a file system.
func onDisk(t *testing.T, f *faultfs.FS) *project {
	t.Helper()
	root := must.Get(os.OpenRoot(f.Dir))(t)
	t.Cleanup(func() { root.Close() })
	f.FS = rootFS{root}
	return &project{name: "p", disk: atomicfile.Files{FS: f}}
}

// A detector whose files cannot be written at any step is the older or the newer one, with its
// description. One that was saved outlasts a power cut.
func TestDetectorStorage(t *testing.T) {
	older := must.Get(tonemodel.New())(t)
	newer := *older
	newer.Meta.Task = "newer"
	save := func(p *project, m *model.Model) error { return p.save(m, &detector{From: m.Meta.Task}) }
	used := faultfs.New(t, "")
	must.Do(t, save(onDisk(t, used), older))
	for _, start := range []string{"", used.Dir} {
		faultfs.EachFault(t, start, func(f *faultfs.FS, fault *faultfs.Fault) {
			p := onDisk(t, f)
			saved := save(p, &newer)
			failed := fault.Over()
			switch {
			case saved == nil && !failed:
				must.Do(t, f.Durable())
			case saved != nil && !errors.Is(saved, fault.Err):
				t.Errorf("%v: error %v, expected the cause", fault, saved)
			}
			m, err := p.model()
			if start == "" && saved != nil && err != nil && strings.Contains(err.Error(), "no detector yet") {
				return
			}
			must.Do(t, err)
			must.Do(t, p.loadDetector())
			is := p.status.Detector.From
			must.Equal(t, is, m.Meta.Task, "%v: description of the model", fault)
			if saved == nil {
				must.Equal(t, is, newer.Meta.Task, "%v: the model", fault)
			}
			must.Do(t, save(p, &newer))
		})
	}
}

// A recording that was written outlasts a power cut, with its folder. One whose write fails leaves
// no file that counts as a recording.
func TestRecordingStorage(t *testing.T) {
	const name = "_noise/clip-001.wav"
	var want string
	faultfs.EachFault(t, "", func(f *faultfs.FS, fault *faultfs.Fault) {
		p := onDisk(t, f)
		write := func() error {
			if err := p.disk.MkdirAll("_noise", 0o777); err != nil {
				return err
			}
			return p.writeWAV(name, []float32{0, 0.5, -0.5})
		}
		written := write()
		fault.Over()
		if written == nil {
			must.Do(t, f.Durable())
		}
		got, err := p.disk.ReadFile(name, 1<<20)
		if errors.Is(err, fs.ErrNotExist) && written != nil {
			must.Do(t, write())
			got, err = p.disk.ReadFile(name, 1<<20)
		}
		must.Do(t, err)
		want = cmp.Or(want, string(got))
		must.Equal(t, string(got), want, "%v: recording", fault)
	})
}
