package service

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/faultfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// names returns the streams in a folder, sorted.
func names(t *testing.T, f *Folder) (list []string) {
	t.Helper()
	for _, e := range must.Get(f.List(t.Context()))(t) {
		list = append(list, e.Stream)
	}
	slices.Sort(list)
	return list
}

// A Folder has the revisions that Store describes, and its snapshots also when it is opened again.
func TestFolder(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "a", "b")
	f := must.Get(OpenFolder(dir))(t)
	_, revision, err := f.Get(ctx, "mine")
	must.Do(t, err)
	must.Equal(t, revision, 0, "revision of a stream without a snapshot")
	first := must.Get(f.Put(ctx, "mine", []byte("one"), 0))(t)
	must.Reject(f.Put(ctx, "mine", []byte("late"), 0))(t, ErrRevision)
	second := must.Get(f.Put(ctx, "mine", []byte("two"), first))(t)
	must.Reject(f.Put(ctx, "mine", []byte("late"), first))(t, ErrRevision)
	must.Fail(t, f.Delete(ctx, "mine", first), ErrRevision)
	must.Get(f.Put(ctx, "Mine", []byte("another"), 0))(t)
	must.Get(f.Put(ctx, "..", []byte("dots"), 0))(t)
	must.Reject(OpenFolder(dir))(t, "another process uses "+dir)
	must.Equal(t, fmt.Sprint(names(t, f)), "[.. Mine mine]", "streams")
	must.Do(t, f.Close())
	must.Reject(f.Put(ctx, "mine", nil, second))(t, os.ErrClosed)

	temporary := filepath.Base(f.path("mine")) + ".123.tmp"
	for _, name := range []string{temporary, "notes.txt", "zz" + suffix} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	f = must.Get(OpenFolder(dir))(t)
	b, revision, err := f.Get(ctx, "mine")
	must.Do(t, err)
	must.Equal(t, string(b), "two", "snapshot")
	must.Do(t, f.Delete(ctx, "mine", revision))
	must.Equal(t, fmt.Sprint(names(t, f)), "[.. Mine]", "streams after DELETE")
	must.Do(t, f.Close())
	files := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	must.Equal(t, len(files), 5, "files: two snapshots, two others, the lock")
}

// A snapshot that was removed, or a folder that cannot be made, is an error that names it.
func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "6d696e65"+suffix)
	f := must.Get(OpenFolder(dir))(t)
	revision := must.Get(f.Put(t.Context(), "mine", []byte("x"), 0))(t)
	must.Do(t, os.Remove(path))
	_, _, err := f.Get(t.Context(), "mine")
	must.Fail(t, err, path)
	must.Do(t, f.Delete(t.Context(), "mine", revision))
	must.Do(t, f.Close())
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	must.Reject(OpenFolder(file))(t, file)
}

// If any file operation of a Folder fails, or all from one on, each snapshot is the older or the
// newer one. One that was reported as saved is the newer one, one that was reported as deleted does
// not return, and a power cut undoes neither.
func TestStorage(t *testing.T) {
	ctx := t.Context()
	start := faultfs.New(t, "")
	s := must.Get(openFolder(atomicfile.Files{FS: start}, start.Dir))(t)
	for _, name := range []string{"replaced", "deleted"} {
		must.Get(s.Put(ctx, name, []byte("old"), 0))(t)
	}
	must.Do(t, s.Close())
	faultfs.EachFault(t, start.Dir, func(f *faultfs.FS, fault *faultfs.Fault) {
		possible := map[string][]string{"new": {"", "content"}, "replaced": {"old", "content"}, "deleted": {"old", ""}}
		s, err := openFolder(atomicfile.Files{FS: f}, f.Dir)
		for _, name := range []string{"new", "replaced", "deleted"} {
			if s == nil {
				break
			}
			_, revision, failed := s.Get(ctx, name)
			switch {
			case failed != nil:
			case name == "deleted":
				failed = s.Delete(ctx, name, revision)
			default:
				_, failed = s.Put(ctx, name, []byte("content"), revision)
			}
			if failed == nil {
				possible[name] = possible[name][1:]
				must.Do(t, f.Durable())
			}
			err = cmp.Or(err, failed)
		}
		if s != nil {
			must.Do(t, s.Close())
		}
		if !fault.Over() {
			must.Do(t, err)
		}
		s = must.Get(openFolder(atomicfile.System(), f.Dir))(t)
		for name, contents := range possible {
			b, revision, err := s.Get(ctx, name)
			if err != nil || !slices.Contains(contents, string(b)) {
				t.Errorf("%v: %s has %q (%v), expected one of %q", fault, name, b, err, contents)
			}
			must.Equal(t, revision > 0, len(b) > 0, "%v: %s has a revision", fault, name)
		}
		must.Do(t, s.Close())
	})
}
