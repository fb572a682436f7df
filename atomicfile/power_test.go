package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/faultfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// put writes a content in several writes.
func put(f *faultfs.FS, path, content string) error {
	return atomicfile.Files{FS: f}.Write(path, 0o666, func(w io.Writer) error {
		for part := range strings.SplitAfterSeq(content, " ") {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// If any operation of Write fails, the file has the older or the newer content. After a Write
// without an error it has the newer content, also after a power cut. The error names the file.
func TestEveryFault(t *testing.T) {
	const newer = "the newer content, which is longer"
	for _, older := range []string{"", "the older content"} {
		start := faultfs.New(t, "")
		if older != "" {
			must.Do(t, put(start, filepath.Join(start.Dir, "file.txt"), older))
		}
		faultfs.EachFault(t, start.Dir, func(f *faultfs.FS, fault *faultfs.Fault) {
			path := filepath.Join(f.Dir, "file.txt")
			err := put(f, path, newer)
			failed := fault.Over()
			if err != nil && (!failed || !strings.HasPrefix(err.Error(), path+": ") || !errors.Is(err, fault.Err)) {
				t.Errorf("%v: error %v, expected one that names the file and is the cause", fault, err)
			}
			content, _ := os.ReadFile(path)
			if possible := []string{newer, older}; err == nil && string(content) != newer || !slices.Contains(possible, string(content)) {
				t.Errorf("%v: error %v, content %q", fault, err, content)
			}
			must.Do(t, put(f, path, newer))
			must.Do(t, f.Durable())
			must.Do(t, atomicfile.Files{FS: f}.RemoveTemporary(path))
			must.Equal(t, len(must.Get(os.ReadDir(f.Dir))(t)), 1, "%v: files", fault)
		})
	}
}

// A folder that MkdirAll has made outlasts a power cut, and so do those above it.
func TestMkdirAll(t *testing.T) {
	faultfs.EachFault(t, "", func(f *faultfs.FS, fault *faultfs.Fault) {
		dir, files := filepath.Join(f.Dir, "a", "b", "c"), atomicfile.Files{FS: f}
		err := files.MkdirAll(dir, 0o755)
		failed := fault.Over()
		if err == nil {
			err = f.Durable()
		}
		if err != nil && (!failed || !errors.Is(err, fault.Err)) {
			t.Errorf("%v: %v", fault, err)
		}
		must.Do(t, files.MkdirAll(dir, 0o755)) // the fault is over
		must.Get(os.Stat(dir))(t)
		must.Do(t, f.Durable())
	})
}
