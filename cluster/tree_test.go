package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
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
	ref := must.Get(treeOf(dir, math.MaxInt64, nil))(t)
	var archive bytes.Buffer
	must.Do(t, pack(&archive, dir))
	must.Do(t, unpack(bytes.NewReader(archive.Bytes()), to, "words", ref.Size))
	got := must.Get(treeOf(filepath.Join(to, "words"), ref.Size, nil))(t)
	must.Equal(t, got.Hash, ref.Hash, "hash")
	must.Reject(treeOf(dir, 3000, nil))(t, "larger than")
	must.Fail(t, unpack(bytes.NewReader(archive.Bytes()), t.TempDir(), "words", 4000), "larger than announced")

	one := must.Get(treeOf(filepath.Join(dir, "list.txt"), math.MaxInt64, nil))(t) // a single file
	archive.Reset()
	must.Do(t, pack(&archive, filepath.Join(dir, "list.txt")))
	must.Do(t, unpack(&archive, to, "list.txt", one.Size))
	must.Equal(t, must.Get(treeOf(filepath.Join(to, "list.txt"), one.Size, nil))(t).Hash, one.Hash, "hash of a file")

	must.Do(t, os.Rename(filepath.Join(dir, "list.txt"), filepath.Join(dir, "list2.txt")))
	if again := must.Get(treeOf(dir, math.MaxInt64, nil))(t); again.Hash == ref.Hash {
		t.Error("a file with another name has the same hash")
	}
	must.Reject(treeOf(filepath.Join(dir, "missing"), math.MaxInt64, nil))(t, fs.ErrNotExist, "missing")
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
	twice := append(bytes.TrimRight(archiveOf(t, tar.Header{Name: "data", Typeflag: tar.TypeReg}, ""), "\x00"), make([]byte, block)...)
	twice = append(twice[:block], archiveOf(t, tar.Header{Name: "data", Typeflag: tar.TypeReg}, "")...)
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

// The cache fetches a data set once, uses equal data at the same path instead, and stays within its
// limit.
func TestCache(t *testing.T) {
	from := t.TempDir()
	refs := map[string]dataRef{}
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, from, name+"/file", strings.Repeat(name, 3000))
		refs[name] = must.Get(treeOf(filepath.Join(from, name), math.MaxInt64, nil))(t)
	}
	c := &cache{dir: t.TempDir(), limit: 2*refs["a"].Size + 10, shared: map[string]string{}, intact: map[string]bool{}, tree: treeOf}
	fetched := 0
	path := func(ref dataRef, base string) (string, error) {
		return c.path(t.Context(), ref, nil, func(_ context.Context, dir string) error {
			fetched++
			var b bytes.Buffer
			must.Do(t, pack(&b, filepath.Join(from, base)))
			return unpack(&b, dir, base, ref.Size)
		})
	}
	must.Equal(t, must.Get(path(refs["a"], "a"))(t), refs["a"].Path, "path of shared data")
	for _, name := range []string{"a", "a", "b", "a", "c"} {
		ref := refs[name]
		ref.Path = "/nowhere/" + name
		got := must.Get(path(ref, name))(t)
		must.Equal(t, readFile(t, got, "file"), strings.Repeat(name, 3000), "content of %s", name)
	}
	must.Equal(t, fetched, 3, "fetched")
	must.Equal(t, len(must.Get(os.ReadDir(c.dir))(t)), 2, "data sets in the cache")

	// After a power cut a file of the cache is empty. The next process fetches the data again.
	c.intact = map[string]bool{}
	ref := refs["c"]
	ref.Path = "/nowhere/c"
	must.Do(t, os.Truncate(filepath.Join(c.dir, ref.Hash, "c", "file"), 0))
	for range 2 {
		must.Equal(t, readFile(t, must.Get(path(ref, "c"))(t), "file"), strings.Repeat("c", 3000), "content after a power cut")
	}
	must.Equal(t, fetched, 4, "fetched")

	other := refs["c"]
	other.Path, other.Hash = "/nowhere/a", strings.Repeat("0", 64)
	must.Reject(path(other, "a"))(t, "expected "+other.Hash)
	other.Size = c.limit + 1
	must.Reject(path(other, "a"))(t, "--cache")
	broken := errors.New("no connection")
	other.Size = 10
	must.Reject(c.path(t.Context(), other, nil, func(context.Context, string) error { return broken }))(t, broken)
	for _, e := range must.Get(os.ReadDir(c.dir))(t) {
		if !hash.MatchString(e.Name()) {
			t.Errorf("%s is left in the cache", e.Name())
		}
	}
}
