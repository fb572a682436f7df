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

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

func readFile(t testing.TB, dir, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t))
}

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
	must.Do(t, unpack(bytes.NewReader(archive.Bytes()), to, "words", ref.Size))
	got := must.Get(treeOf(t.Context(), filepath.Join(to, "words")))(t)
	must.Equal(t, got.Hash, ref.Hash, "hash")
	must.Fail(t, unpack(bytes.NewReader(archive.Bytes()), t.TempDir(), "words", 4000), "larger than announced")

	one := must.Get(treeOf(t.Context(), filepath.Join(dir, "list.txt")))(t) // a single file
	archive.Reset()
	must.Do(t, pack(&archive, filepath.Join(dir, "list.txt")))
	must.Do(t, unpack(&archive, to, "list.txt", one.Size))
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
	must.Reject(c.path(t.Context(), dataRef{Path: "x", Hash: "other"}, func(to string) error { writeFile(t, to, "x", ""); return nil }))(t, "may have changed")
}

// archiveOf returns an archive with one file.
func archiveOf(t testing.TB, h tar.Header, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h.Size = int64(len(text))
	must.Do(t, w.WriteHeader(&h))
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

func TestUnpackRejects(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../outside", Typeflag: tar.TypeReg}, {Name: "/etc/outside", Typeflag: tar.TypeReg}, {Name: "data/../../outside", Typeflag: tar.TypeReg},
		{Name: "data/../data2", Typeflag: tar.TypeReg},
		{Name: "other/file", Typeflag: tar.TypeReg}, {Name: "data/link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
		{Name: "data/link", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, {Name: "data/device", Typeflag: tar.TypeChar},
	} {
		must.Fail(t, unpack(bytes.NewReader(archiveOf(t, h, "")), t.TempDir(), "data", 1000), "expected regular files")
	}
	twice := append(bytes.TrimRight(archiveOf(t, tar.Header{Name: "data", Typeflag: tar.TypeReg}, ""), "\x00"), make([]byte, 512)...)
	twice = append(twice[:512], archiveOf(t, tar.Header{Name: "data", Typeflag: tar.TypeReg}, "")...)
	must.Fail(t, unpack(bytes.NewReader(twice), t.TempDir(), "data", 1000), fs.ErrExist)
}

// Whatever an archive contains, its files are in the folder and have at most the announced size.
func FuzzUnpack(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "data/x", Typeflag: tar.TypeReg}, "text"))
	f.Add(archiveOf(f, tar.Header{Name: "data/../../x", Typeflag: tar.TypeReg}, "text"))
	f.Add(archiveOf(f, tar.Header{Name: "data/../data2", Typeflag: tar.TypeReg}, "text"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "to")
		must.Do(t, os.Mkdir(dir, 0o755))
		_ = unpack(bytes.NewReader(archive), dir, "data", 1000)
		var size int64
		must.Do(t, filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				info := must.Get(d.Info())(t)
				data := filepath.Join(dir, "data")
				within := path == data || strings.HasPrefix(path, data+string(filepath.Separator))
				if size += info.Size(); !within || !info.Mode().IsRegular() {
					t.Errorf("file %s with mode %v", path, info.Mode())
				}
			}
			return err
		}))
		if size > 1000 {
			t.Errorf("%d bytes, expected at most 1000", size)
		}
	})
}
