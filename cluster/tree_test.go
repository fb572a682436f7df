package cluster

import (
	"archive/tar"
	"bytes"
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
