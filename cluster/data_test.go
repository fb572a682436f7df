package cluster

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A data set has the same hash after it was packed and unpacked, and another one after any change.
func TestTree(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "words"), t.TempDir()
	long := strings.Repeat("long", 40)
	for name, text := range map[string]string{"yes/1.wav": "one", "no/" + long + "/2.wav": "", "list.txt": strings.Repeat("x", 5000)} {
		writeFile(t, dir, name, text)
	}
	ref := must.Get(describe(dir))(t)
	var archive bytes.Buffer
	must.Do(t, pack(&archive, dir))
	must.Do(t, unpack(bytes.NewReader(archive.Bytes()), to))
	got := must.Get(describe(filepath.Join(to, "words")))(t)
	must.Equal(t, got.Hash, ref.Hash, "hash")

	one := must.Get(describe(filepath.Join(dir, "list.txt")))(t) // a single file
	archive.Reset()
	must.Do(t, pack(&archive, filepath.Join(dir, "list.txt")))
	must.Do(t, unpack(&archive, to))
	must.Equal(t, must.Get(describe(filepath.Join(to, "list.txt")))(t).Hash, one.Hash, "hash of a file")

	must.Do(t, os.Rename(filepath.Join(dir, "list.txt"), filepath.Join(dir, "list2.txt")))
	if again := must.Get(describe(dir))(t); again.Hash == ref.Hash {
		t.Error("a file with another name has the same hash")
	}
	must.Reject(describe(filepath.Join(dir, "missing")))(t, fs.ErrNotExist, "missing")
}

// Data are fetched once, unless they are on this machine already. They stay for the next process in
// the folder, unless they are damaged.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "words")
	writeFile(t, dir, "yes/1.wav", "one")
	ref := must.Get(describe(dir))(t)
	fetched, folder := 0, t.TempDir()
	cached := func() *cache { return &cache{folder, map[string]string{}} }
	path := func(c *cache) string {
		return must.Get(c.path(ref, func(to string) error {
			fetched++
			writeFile(t, to, "words/yes/1.wav", "one")
			return nil
		}))(t)
	}
	must.Equal(t, path(cached()), dir, "path of data that are here")
	writeFile(t, dir, "yes/1.wav", "two")
	want, c := filepath.Join(folder, ref.Hash, "words"), cached()
	for _, c := range []*cache{c, c, cached()} {
		must.Equal(t, path(c), want, "path of fetched data")
	}
	must.Equal(t, fetched, 1, "fetches")
	writeFile(t, want, "yes/1.wav", "damaged")
	path(cached())
	must.Equal(t, fetched, 2, "fetches after damage")
	must.Reject(c.path(dataRef{Path: "x", Hash: "other"}, func(to string) error { writeFile(t, to, "x", ""); return nil }))(t, "another content")
}

// Whatever an archive contains, its files are in the folder.
func TestUnpackRejects(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg}, {Name: "data/../../outside", Typeflag: tar.TypeReg},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		must.Do(t, w.WriteHeader(&h))
		must.Do(t, w.Close())
		if unpack(&b, t.TempDir()) == nil {
			t.Errorf("%s of type %q was written", h.Name, h.Typeflag)
		}
	}
}
