package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// objectsOf is an object store that only reads.
type objectsOf struct {
	jetstream.ObjectStore
	content map[string]string
}

func (o objectsOf) Get(_ context.Context, name string, _ ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	return object{Reader: strings.NewReader(o.content[name])}, nil
}

type object struct {
	io.Reader
	jetstream.ObjectResult
}

func (o object) Read(p []byte) (int, error) { return o.Reader.Read(p) }
func (object) Close() error                 { return nil }
func (object) Error() error                 { return nil }

// The folder of a collected run whose write fails at any step, or is cut off, is the older or the
// newer one. It can be collected again. An error of the disk is not one of the broker, which would
// be tried again forever.
func TestCollectStorage(t *testing.T) {
	const dir, first = "sweep/run-0", "config.toml"
	objects := objectsOf{content: map[string]string{}}
	var files []file
	for _, path := range []string{first, "metrics.jsonl", "last/checkpoint.safetensors"} {
		text := "newer " + strings.Repeat(path, 100)
		objects.content[path] = text
		files = append(files, file{Path: path, Object: path, Size: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))})
	}
	collect := func(f *memfs.FS) error {
		return getFolder(t.Context(), atomicfile.Files{FS: f}, objects, filepath.FromSlash(dir), files)
	}
	older := memfs.New()
	disk := atomicfile.Files{FS: older}
	must.Do(t, disk.MkdirAll(dir, 0o755))
	for _, name := range []string{first, "log.txt"} {
		must.Do(t, disk.Write(filepath.Join(dir, name), 0o644, func(w io.Writer) error {
			_, err := io.WriteString(w, "older")
			return err
		}))
	}
	had := contents(t, older, dir)
	left := older.PowerCut(memfs.Nothing) // with a file of an earlier attempt, which could not be removed
	must.Do(t, atomicfile.Files{FS: left}.MkdirAll("sweep/"+incoming+"run-0", 0o755))
	must.Do(t, atomicfile.Files{FS: left}.Write("sweep/"+incoming+"run-0/log.txt", 0o644, func(io.Writer) error { return nil }))
	must.Do(t, collect(left))
	must.Equal(t, maps.Equal(contents(t, left, dir), objects.content), true, "only the files of the new attempt are collected")
	tried, held := 0, 0
	check := func(what string, f *memfs.FS, start map[string]string, collected error) {
		tried++
		must.Do(t, recoverFolders(atomicfile.Files{FS: f}, "sweep"))
		got := contents(t, f, dir)
		switch newer := maps.Equal(got, objects.content); {
		case !newer && (collected == nil || !maps.Equal(got, start)):
			t.Errorf("%s: getFolder returned %v; the folder has %q", what, collected, slices.Sorted(maps.Keys(got)))
		case collect(f) != nil || !maps.Equal(contents(t, f, dir), objects.content):
			t.Errorf("%s: collected again, the folder has %q", what, slices.Sorted(maps.Keys(contents(t, f, dir))))
		case len(must.Get(f.ReadDir("sweep"))(t)) != 1:
			t.Errorf("%s: collected again, files remain: %v", what, f)
		default:
			held++
		}
	}
	for _, start := range []*memfs.FS{memfs.New(), older} {
		content := map[string]string{}
		if start == older {
			content = had
		}
		memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
			err := collect(f)
			if !fault.Over() {
				return
			}
			if err != nil && (!errors.Is(err, fault.Err) || errors.As(err, new(brokerError))) {
				t.Errorf("%v: error %v, expected the cause", fault, err)
			}
			for loss := memfs.Everything; loss < memfs.Torn+2; loss++ {
				check(fault.String()+", then a power cut", f.PowerCut(loss), content, err)
			}
			check(fault.String(), f, content, err)
		})
		memfs.EachPowerCut(start, 5, func(f *memfs.FS) { must.Do(t, collect(f)) }, func(after *memfs.FS, when string) {
			check(when, after, content, fs.ErrInvalid)
		})
	}
	must.Tally(t, "the folder of a collected run whose write fails, or is cut off, at any step is the older or the newer one", tried, held)
}

// Folders that a crash left in a sweep are removed or restored, whatever the name of the sweep's
// folder is.
func TestRecoverFolders(t *testing.T) {
	disk, dir := atomicfile.System(), filepath.Join(t.TempDir(), "x[1")
	must.Do(t, recoverFolders(disk, dir)) // no folder yet
	for _, path := range []string{incoming + "a/last", replaced + "a", replaced + "b", "b", "c"} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(path, 0o777))
		must.Do(t, os.WriteFile(filepath.Join(path, "file"), []byte(filepath.Base(path)), 0o666))
	}
	must.Do(t, recoverFolders(disk, dir))
	var got []string
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		got = append(got, e.Name()+" "+string(must.Get(os.ReadFile(filepath.Join(dir, e.Name(), "file")))(t)))
	}
	must.Equal(t, strings.Join(got, ", "), "a .replaced-a, b b, c c", "folders and their files")
}

// contents returns the files of a folder by their names with slashes. A folder that is missing has
// none.
func contents(t *testing.T, f *memfs.FS, dir string) map[string]string {
	t.Helper()
	disk, all := atomicfile.Files{FS: f}, map[string]string{}
	entries, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	must.Do(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			all[e.Name()] = string(bytes.TrimSpace(must.Get(disk.ReadFile(path, 1<<20))(t)))
			continue
		}
		for name, text := range contents(t, f, path) {
			all[e.Name()+"/"+name] = text
		}
	}
	return all
}

// A run whose folder could not be replaced, because its name is too long, is an error before any
// run begins.
func TestLongFolderName(t *testing.T) {
	s := tiny(t, t.TempDir(), 1)
	s.Axes = []train.Axis{{Keys: []string{"optim.lr"}, Values: []string{"0.02" + strings.Repeat("0", 245-len("optim.lr=0.02,seed=1"))}}}
	nc := connect(t, start(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Reject((&Coordinator{Sweep: s}).Run(ctx, nc))(t, train.ErrInterrupted) // a name of 245 bytes is no error
	s.Axes[0].Values[0] += "0"
	must.Reject((&Coordinator{Sweep: s}).Run(t.Context(), nc))(t, "optim.lr=0.02000", "246 bytes", "245")
}
