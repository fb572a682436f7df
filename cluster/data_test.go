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
	ref := must.Get(treeOf(t.Context(), dir))(t)
	var archive bytes.Buffer
	must.Do(t, pack(&archive, dir))
	must.Do(t, unpack(bytes.NewReader(archive.Bytes()), to))
	got := must.Get(treeOf(t.Context(), filepath.Join(to, "words")))(t)
	must.Equal(t, got.Hash, ref.Hash, "hash")

	one := must.Get(treeOf(t.Context(), filepath.Join(dir, "list.txt")))(t) // a single file
	archive.Reset()
	must.Do(t, pack(&archive, filepath.Join(dir, "list.txt")))
	must.Do(t, unpack(&archive, to))
	must.Equal(t, must.Get(treeOf(t.Context(), filepath.Join(to, "list.txt")))(t).Hash, one.Hash, "hash of a file")

	must.Do(t, os.Rename(filepath.Join(dir, "list.txt"), filepath.Join(dir, "list2.txt")))
	if again := must.Get(treeOf(t.Context(), dir))(t); again.Hash == ref.Hash {
		t.Error("a file with another name has the same hash")
	}
	must.Reject(treeOf(t.Context(), filepath.Join(dir, "missing")))(t, fs.ErrNotExist, "missing")
}

// Data are fetched once, unless they are on this machine already. They stay for the next process in
// the folder, and are deleted when a sweep with other data begins.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "words")
	writeFile(t, dir, "yes/1.wav", "one")
	ref := must.Get(treeOf(t.Context(), dir))(t)
	fetched := 0
	path := func(c *cache, sweep string, data ...dataRef) string {
		must.Do(t, c.begin(&job{Sweep: sweep, Data: data}))
		return must.Get(c.path(t.Context(), ref, func(to string) error {
			fetched++
			writeFile(t, to, "words/yes/1.wav", "one")
			return nil
		}))(t)
	}
	folder := t.TempDir()
	must.Equal(t, path(&cache{dir: folder}, "a", ref), dir, "path of data that are here")
	writeFile(t, dir, "yes/1.wav", "two")
	want := filepath.Join(folder, ref.Hash, "words")
	c := &cache{dir: folder}
	for _, c := range []*cache{c, c, {dir: folder}} {
		must.Equal(t, path(c, "a", ref), want, "path of fetched data")
	}
	must.Equal(t, fetched, 1, "fetches")
	writeFile(t, want, "yes/1.wav", "damaged")
	path(c, "b", ref)
	must.Equal(t, fetched, 2, "fetches after damage")
	path(c, "c")
	must.Equal(t, fetched, 3, "fetches after a sweep without these data")
	must.Reject(c.path(t.Context(), dataRef{Path: "x", Hash: "other"}, func(to string) error { writeFile(t, to, "x", ""); return nil }))(t, "another content")
}

// Whatever an archive contains, its files are in the folder.
func TestUnpackRejects(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg}, {Name: "data/../../outside", Typeflag: tar.TypeReg},
		{Name: "data/link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, {Name: "data/device", Typeflag: tar.TypeChar},
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
