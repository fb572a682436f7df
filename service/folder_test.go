package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
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
	must.Reject(OpenFolder(dir))(t, "another service uses the folder", dir)
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

// storage runs all operations of a Folder on a file system. It returns the streams whose new
// content, or whose deletion, was confirmed. Before it runs, "replaced" and "deleted" have the
// content "old".
func storage(f *memfs.FS) (confirmed []string) {
	ctx := context.Background()
	s, err := openFolder(atomicfile.Files{FS: f}, "a")
	if err != nil {
		return nil
	}
	do := func(name string, call func(revision uint64) error) {
		_, revision, err := s.Get(ctx, name)
		if err == nil {
			err = call(revision)
		}
		if err == nil {
			confirmed = append(confirmed, name)
		}
	}
	for _, name := range []string{"new", "replaced"} {
		do(name, func(revision uint64) error {
			_, err := s.Put(ctx, name, []byte(strings.Repeat("content", 10)), revision)
			return err
		})
	}
	do("deleted", func(revision uint64) error { return s.Delete(ctx, "deleted", revision) })
	return confirmed
}

// If any file operation of a Folder fails, or its power is cut at any step, each snapshot is the
// older or the newer one. One that was reported as saved is the newer one, and one that was
// reported as deleted does not return.
func TestStorage(t *testing.T) {
	ctx := t.Context()
	start := memfs.New()
	s := must.Get(openFolder(atomicfile.Files{FS: start}, "a"))(t)
	for _, name := range []string{"replaced", "deleted"} {
		must.Get(s.Put(ctx, name, []byte("old"), 0))(t)
	}
	content := strings.Repeat("content", 10)
	check := func(what string, f *memfs.FS, confirmed []string) {
		t.Helper()
		s, err := openFolder(atomicfile.Files{FS: f}, "a")
		if err != nil {
			t.Errorf("%s: %v; files:\n%v", what, err, f)
			return
		}
		for name, possible := range map[string][]string{"new": {"", content}, "replaced": {"old", content}, "deleted": {"old", ""}} {
			if slices.Contains(confirmed, name) {
				possible = possible[1:]
			}
			b, revision, err := s.Get(ctx, name)
			if err != nil || !slices.Contains(possible, string(b)) {
				t.Errorf("%s: %s has %q (%v), expected one of %q; files:\n%v", what, name, b, err, possible, f)
			}
			must.Equal(t, revision > 0, len(b) > 0, "%s: %s has a revision", what, name)
		}
	}
	memfs.EachFault(start, memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
		confirmed := storage(f)
		f.Fault = nil
		check(fault.String(), f, confirmed)
		for _, loss := range []memfs.Loss{memfs.Everything, memfs.Torn, memfs.Torn + 1} {
			check(fmt.Sprintf("%v, then a power cut, loss %d", fault, loss), f.PowerCut(loss), confirmed)
		}
	})
	memfs.EachPowerCut(start, 10, func(f *memfs.FS) {
		must.Equal(t, fmt.Sprint(storage(f)), "[new replaced deleted]", "without faults")
	}, func(after *memfs.FS, when string) { check(when, after, nil) })
}
