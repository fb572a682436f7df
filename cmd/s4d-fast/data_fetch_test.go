package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A mirror on this machine serves a clone, archives and a file. They are laid out by the recipe.
// Without --run the commands are printed, and run by hand they have the same effect.
func TestDataFetch(t *testing.T) {
	dir, mirror := t.TempDir(), t.TempDir()
	write := func(name string, content []byte) {
		must.Do(t, os.WriteFile(filepath.Join(mirror, name), content, 0o666))
	}
	must.Do(t, os.MkdirAll(filepath.Join(mirror, "repository", "recordings"), 0o777))
	write("repository/recordings/1.wav", []byte("one"))
	write("repository/README", []byte("no data"))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"}} {
		git := exec.Command("git", args...)
		git.Dir = filepath.Join(mirror, "repository")
		must.Do(t, git.Run())
	}
	var packed, zipped bytes.Buffer
	g := gzip.NewWriter(&packed)
	tarball := tar.NewWriter(g)
	must.Do(t, tarball.WriteHeader(&tar.Header{Name: "./set/a.txt", Size: 3, Typeflag: tar.TypeReg}))
	must.Get(tarball.Write([]byte("abc")))(t)
	must.Do(t, tarball.Close())
	must.Do(t, g.Close())
	z := zip.NewWriter(&zipped)
	must.Get(must.Get(z.Create("B_TRAIN.ts"))(t).Write([]byte("b")))(t)
	must.Do(t, z.Close())
	write("set.tar.gz", packed.Bytes())
	write("B.zip", zipped.Bytes())
	sum := sha256.Sum256(packed.Bytes())
	at := "file://" + filepath.ToSlash(mirror) + "/"
	all := map[string]recipe{
		"clone":   {Git: at + "repository", Pick: `^recordings/(.*)$`, To: "wav/$1"},
		"archive": {Files: [][2]string{{at + "set.tar.gz", hex.EncodeToString(sum[:])}}, Pick: `^set/(.*)$`, To: "$1"},
		"zip":     {Files: [][2]string{{at + "B.zip#C.zip", ""}}},
		"damaged": {Files: [][2]string{{at + "set.tar.gz", strings.Repeat("0", 64)}}},
	}
	fetch := func(c dataFetchCmd) (string, error) {
		var out bytes.Buffer
		c.Dir = dir
		err := c.fetch(t.Context(), &streams{out: &out, err: &out}, all)
		return out.String(), err
	}
	for name, files := range map[string]map[string]string{
		"clone": {"wav/1.wav": "one"}, "archive": {"a.txt": "abc"}, "zip": {"B_TRAIN.ts": "b"},
	} {
		must.Get(fetch(dataFetchCmd{Name: name}))(t)
		for _, d := range all[name].downloads(filepath.Join(dir, "downloads", name)) {
			command := d.command(d.path)
			must.Do(t, exec.Command(command[0], command[1:]...).Run())
		}
		must.Get(fetch(dataFetchCmd{Name: name}))(t)
		must.Do(t, os.RemoveAll(filepath.Join(dir, "downloads")))
		must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
		must.Get(fetch(dataFetchCmd{Name: name, Download: true}))(t)
		entries := 0
		must.Do(t, eachIn(os.DirFS(filepath.Join(dir, name)), func(string, io.Reader) error { entries++; return nil }))
		must.Equal(t, entries, len(files), "%s: number of files", name)
		for file, content := range files {
			must.Equal(t, string(read(t, filepath.Join(dir, name, file))), content, "%s/%s", name, file)
		}
		if out := must.Get(fetch(dataFetchCmd{Name: name}))(t); !strings.Contains(out, "exists") {
			t.Errorf("%s again: %q, expected that the folder exists", name, out)
		}
	}
	for name, expected := range map[string]string{"damaged": "SHA-256", "clon": `did you mean "clone"`} {
		must.Reject(fetch(dataFetchCmd{Name: name, Download: true}))(t, expected)
	}
}

// A download that was interrupted continues where it stopped, and a complete one is not repeated.
func TestInterruptedDownload(t *testing.T) {
	t.Setenv("NO_PROXY", "127.0.0.1")
	content, sent := bytes.Repeat([]byte("0123456789"), 10_000), map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/second.bin" && r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			w.Write(content[:40_000])
			return // the server closes the connection
		}
		out := httptest.NewRecorder()
		http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(content))
		sent[r.URL.Path] += out.Body.Len()
		maps.Copy(w.Header(), out.Header())
		w.WriteHeader(out.Code)
		w.Write(out.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	c := dataFetchCmd{Name: "two", Dir: t.TempDir(), Download: true}
	fetch := func() error {
		return c.fetch(t.Context(), &streams{out: io.Discard, err: io.Discard}, map[string]recipe{
			"two": {Files: [][2]string{{server.URL + "/first.bin", ""}, {server.URL + "/second.bin", ""}}},
		})
	}
	must.Fail(t, fetch(), "curl")
	dir := filepath.Join(c.Dir, "two")
	must.Reject(os.Stat(dir))(t, os.ErrNotExist)
	must.Do(t, fetch())
	for _, name := range []string{"first.bin", "second.bin"} {
		must.Equal(t, bytes.Equal(read(t, filepath.Join(dir, name)), content), true, "%s is complete", name)
	}
	must.Equal(t, sent["/first.bin"], len(content), "bytes sent of the complete file")
	must.Equal(t, sent["/second.bin"], len(content)-40_000, "bytes sent of the interrupted file")
}

// Every data set that the commands of documents read has a recipe, and every recipe is complete.
func TestRecipes(t *testing.T) {
	list := ok(t, "data", "fetch")
	named := regexp.MustCompile(`\bdata/([A-Za-z0-9-]+)[ /]`)
	for _, page := range []string{"README.md", "docs/training.md", "docs/data.md", "docs/pytorch.md", "docs/calibrate.md"} {
		for _, block := range regexp.MustCompile("(?ms)^```sh$.*?^```$|^    [^|]*$").FindAllString(string(read(t, filepath.Join("..", "..", page))), -1) {
			for _, m := range named.FindAllStringSubmatch(block, -1) {
				if !strings.Contains(list, m[1]+" ") {
					t.Errorf("%s reads data/%s, which has no recipe in data_fetch.toml", page, m[1])
				}
			}
		}
	}
	for line := range strings.Lines(list) {
		out := ok(t, "data", "fetch", strings.Fields(line)[0], t.TempDir())
		if !strings.Contains(out, "https://") || strings.Contains(out, ": . ") || strings.Contains(out, "Licence: .") {
			t.Errorf("incomplete: %s", out)
		}
	}
}
