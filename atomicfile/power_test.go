package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

const (
	older = "the older content"
	newer = "the newer content, which is longer"
)

var path = filepath.Join("a", "b", "file.txt")

// put writes a content in several writes.
func put(f *memfs.FS, content string) error {
	return atomicfile.Files{FS: f}.Write(path, 0o666, func(w io.Writer) error {
		for part := range strings.SplitAfterSeq(content, " ") {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// before returns a file system with the folder of path, and the file if content is not empty.
func before(t *testing.T, content string) *memfs.FS {
	t.Helper()
	f := memfs.New()
	must.Do(t, atomicfile.Files{FS: f}.MkdirAll(filepath.Dir(path), 0o777))
	if content != "" {
		must.Do(t, put(f, content))
	}
	return f
}

// content returns the content of path; "": there is no file.
func content(t *testing.T, f *memfs.FS) string {
	t.Helper()
	b, err := atomicfile.Files{FS: f}.ReadFile(path, math.MaxInt32)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return string(b)
}

// If any operation of Write fails, the file has the older or the newer content, also after a power
// cut. The error names the file.
func TestEveryFault(t *testing.T) {
	for _, old := range []string{"", older} {
		memfs.EachFault(before(t, old), memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
			err := put(f, newer)
			failed := fault.Over()
			if err != nil && (!failed || !strings.HasPrefix(err.Error(), path+": ") || !errors.Is(err, fault.Err)) {
				t.Errorf("%v: error %v, expected one that names the file and is the cause", fault, err)
			}
			for loss := memfs.Everything; loss < memfs.Torn+10; loss++ {
				if got := content(t, f.PowerCut(loss)); got != newer && (err == nil || got != old) {
					t.Errorf("%v: error %v, power cut with loss %d: content %q", fault, err, loss, got)
				}
			}
			must.Do(t, put(f, newer))
			must.Equal(t, content(t, f.PowerCut(memfs.Everything)), newer, "content after another Write")
			must.Do(t, atomicfile.Files{FS: f}.RemoveTemporary(path))
			must.Equal(t, strings.Count(f.String(), "\n"), 1, "%v: files in\n%v", fault, f)
		})
	}
}

// After a power cut at any moment of Write, the file has the older or the newer content.
func TestEveryPowerCut(t *testing.T) {
	for _, old := range []string{"", older} {
		memfs.EachPowerCut(before(t, old), 30, func(f *memfs.FS) { must.Do(t, put(f, newer)) }, func(f *memfs.FS, when string) {
			if got := content(t, f); got != old && got != newer {
				t.Errorf("%s: content %q, expected %q or %q", when, got, old, newer)
			}
		})
	}
}

// A folder that MkdirAll has made outlasts a power cut, and so do those above it.
func TestMkdirAll(t *testing.T) {
	dir := filepath.Join("a", "b", "c")
	memfs.EachFault(memfs.New(), memfs.Modes, func(f *memfs.FS, fault *memfs.Fault) {
		files := atomicfile.Files{FS: f}
		err := files.MkdirAll(dir, 0o755)
		f.Fault = nil
		if _, missing := f.PowerCut(memfs.Everything).Stat(dir); err == nil && missing != nil {
			t.Errorf("%v: MkdirAll returned no error, but %v", fault, missing)
		}
		must.Do(t, files.MkdirAll(dir, 0o755)) // the fault is over
		must.Get(f.PowerCut(memfs.Everything).Stat(dir))(t)
		if err != nil && fault.Operation == "" {
			t.Error(err)
		}
	})
}
