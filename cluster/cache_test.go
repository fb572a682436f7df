package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// threeSets returns a folder with data sets of the same size, a, b and c.
func threeSets(t *testing.T) (from string, refs map[string]dataRef) {
	t.Helper()
	from, refs = t.TempDir(), map[string]dataRef{}
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, from, name+"/file", strings.Repeat(name, 3000))
		refs[name] = must.Get(treeOf(filepath.Join(from, name), math.MaxInt64, nil))(t)
	}
	return from, refs
}

// The cache fetches a data set once, uses equal data at the same path instead, and stays within its
// limit.
func TestCache(t *testing.T) {
	from, refs := threeSets(t)
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

// The cache does not delete data of the run that is about to begin. A run whose data exceed the
// limit is an error.
func TestCacheKeepsRun(t *testing.T) {
	from, refs := threeSets(t)
	list := map[string]dataRef{}
	for name, ref := range refs {
		ref.Path = "/nowhere/" + name
		list[name] = ref
	}
	c := &cache{dir: t.TempDir(), limit: 2*refs["a"].Size + 10, shared: map[string]string{}, intact: map[string]bool{}, tree: treeOf}
	path := func(name string) (string, error) {
		return c.path(t.Context(), list[name], nil, func(_ context.Context, dir string) error {
			var b bytes.Buffer
			must.Do(t, pack(&b, filepath.Join(from, name)))
			return unpack(&b, dir, name, list[name].Size)
		})
	}
	must.Get(path("a"))(t) // of an earlier run
	must.Get(path("b"))(t)
	c.begin(&job{Data: []dataRef{list["a"], list["c"], list["a"]}})
	first := must.Get(path("a"))(t)
	old := time.Unix(1, 0)
	must.Do(t, os.Chtimes(filepath.Dir(first), old, old)) // the least recently used one
	must.Get(path("c"))(t)
	must.Equal(t, readFile(t, first, "file"), strings.Repeat("a", 3000), "data of the run after it fetched others")

	c.begin(&job{Data: []dataRef{list["a"], list["b"], list["c"]}})
	must.Reject(path("b"))(t, fmt.Sprint("needs ", 3*refs["a"].Size, " bytes"), fmt.Sprint("limit is ", c.limit), "--cache")
	must.Equal(t, readFile(t, first, "file"), strings.Repeat("a", 3000), "data of the run after an error")
}

// Data at a path of this machine may change between two sweeps.
func TestSharedDataChange(t *testing.T) {
	from, refs := threeSets(t)
	c := &cache{dir: t.TempDir(), limit: 1 << 20, shared: map[string]string{}, intact: map[string]bool{}, tree: treeOf}
	fetched := errors.New("fetched")
	path := func(ref dataRef) (string, error) {
		return c.path(t.Context(), ref, nil, func(context.Context, string) error { return fetched })
	}
	c.begin(&job{Sweep: "1"})
	must.Equal(t, must.Get(path(refs["a"]))(t), refs["a"].Path, "path")
	writeFile(t, from, "a/file", "other")
	c.begin(&job{Sweep: "1"})
	must.Equal(t, must.Get(path(refs["a"]))(t), refs["a"].Path, "path in the same sweep")
	c.begin(&job{Sweep: "2"})
	must.Reject(path(refs["a"]))(t, fetched)
	now := must.Get(treeOf(refs["a"].Path, math.MaxInt64, nil))(t)
	must.Equal(t, must.Get(path(now))(t), now.Path, "path of the changed data")
}
