package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cache keeps data sets by their hashes in a folder, up to a number of bytes. One process at a time
// uses it.
type cache struct {
	dir    string
	limit  int64
	shared map[string]string // hash of the data at a path of this machine
	intact map[string]bool   // hashes of the cached data that this process has verified
	tree   hashTree

	sweep string    // of the last run
	run   []dataRef // all data of the last run
}

// hashTree is the type of treeOf.
type hashTree func(path string, limit int64, step func() error) (dataRef, error)

// begin prepares for a run. The cache keeps the data of that run. Data at paths of this machine may
// have changed since an earlier sweep.
func (c *cache) begin(j *job) {
	if c.sweep != j.Sweep {
		clear(c.shared)
	}
	c.sweep, c.run = j.Sweep, j.Data
}

// path returns a path with the data: that of the coordinator's machine if it has the same content
// here, and otherwise one in the cache. fetch writes the data to a new folder. step is that of
// treeOf.
func (c *cache) path(ctx context.Context, ref dataRef, step func() error, fetch func(ctx context.Context, dir string) error) (string, error) {
	if _, known := c.shared[ref.Path]; !known && ctx.Err() == nil {
		here, err := c.tree(ref.Path, ref.Size, step)
		if err == nil {
			c.shared[ref.Path] = here.Hash
		}
	}
	if c.shared[ref.Path] == ref.Hash {
		return ref.Path, nil
	}
	dir := filepath.Join(c.dir, ref.Hash)
	if _, err := os.Stat(dir); err == nil && !c.intact[ref.Hash] { // perhaps not whole: its files are not synced
		got, err := treeOf(filepath.Join(dir, ref.base()), ref.Size, step)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil || got.Hash != ref.Hash {
			if err := os.RemoveAll(dir); err != nil {
				return "", fmt.Errorf("cluster: cache: %w", err)
			}
		}
	}
	if _, err := os.Stat(dir); err == nil {
		c.intact[ref.Hash] = true
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // the last use
		return filepath.Join(dir, ref.base()), nil
	}
	if need := ref.Size + c.others(ref.Hash); need > c.limit {
		return "", fmt.Errorf("cluster: data %s: the cache needs %d bytes for this run, its limit is %d: use a higher limit (--cache)", ref.Path, need, c.limit)
	}
	if err := c.evict(c.limit - ref.Size); err != nil {
		return "", fmt.Errorf("cluster: cache: %w", err)
	}
	temporary := dir + ".new"
	defer os.RemoveAll(temporary)
	err := os.RemoveAll(temporary)
	if err == nil {
		err = os.MkdirAll(temporary, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("cluster: cache: %w", err)
	}
	if err := fetch(ctx, temporary); err != nil {
		return "", err
	}
	got, err := treeOf(filepath.Join(temporary, ref.base()), ref.Size, step)
	if err != nil {
		return "", err
	}
	if got.Hash != ref.Hash {
		return "", fmt.Errorf("cluster: data %s: the content has the hash %s, expected %s: the data may have changed since the sweep began; start the sweep again", ref.Path, got.Hash, ref.Hash)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return "", fmt.Errorf("cluster: cache: %w", err)
	}
	c.intact[ref.Hash] = true
	return filepath.Join(dir, ref.base()), nil
}

// others returns the size in bytes of the run's other data that are in the cache.
func (c *cache) others(hash string) (size int64) {
	counted := map[string]bool{hash: true}
	for _, ref := range c.run {
		if _, err := os.Stat(filepath.Join(c.dir, ref.Hash)); err == nil && !counted[ref.Hash] {
			size += ref.Size
		}
		counted[ref.Hash] = true
	}
	return size
}

// evict deletes the data sets that were not used for longest, except those of the run, until the
// others have at most limit bytes.
func (c *cache) evict(limit int64) error {
	entries, err := os.ReadDir(c.dir)
	if os.IsNotExist(err) {
		return nil
	}
	type set struct {
		path string
		used time.Time
		size int64
	}
	var sets []set
	var total int64
	for _, e := range entries {
		s := set{path: filepath.Join(c.dir, e.Name())}
		if info, err := e.Info(); err == nil && hash.MatchString(e.Name()) { // otherwise left by a crash: deleted first
			s.used = info.ModTime()
		}
		_ = filepath.WalkDir(s.path, func(_ string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					s.size += info.Size() + 4*block
				}
			}
			return nil
		})
		sets, total = append(sets, s), total+s.size
	}
	slices.SortFunc(sets, func(a, b set) int { return a.used.Compare(b.used) })
	for _, s := range sets {
		if total <= limit && !s.used.IsZero() {
			break
		}
		if slices.ContainsFunc(c.run, func(ref dataRef) bool { return ref.Hash == filepath.Base(s.path) }) {
			continue
		}
		if err := os.RemoveAll(s.path); err != nil {
			return err
		}
		total -= s.size
	}
	return err
}
