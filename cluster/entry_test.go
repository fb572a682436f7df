package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// stored returns the store of a new broker with the entry of a queued run.
func stored(t *testing.T, e entry) *store {
	t.Helper()
	s := must.Get(create(t.Context(), connect(t, start(t))))(t)
	e.Version = version
	must.Get(write(t.Context(), s.kv, testKey, e, 0))(t)
	return s
}

const testKey = "0123456789abcdef.0"

// claimed has a worker claim the run of stored.
func claimed(t *testing.T, s *store, worker string) (*lease, error) {
	t.Helper()
	e, rev, err := read(t.Context(), s.kv, testKey)
	must.Do(t, err)
	return claim(t.Context(), s.kv, testKey, e, rev, worker)
}

// A worker whose run was given to another one cannot write its entry any more.
func TestLease(t *testing.T) {
	s := stored(t, entry{Status: queued, Name: "seed=1"})
	before, rev, err := read(t.Context(), s.kv, testKey)
	must.Do(t, err)
	a := must.Get(claimed(t, s, "a"))(t)
	must.Do(t, a.update(t.Context(), func(e *entry) { e.Step, e.Files, e.Levels = 10, []file{{Path: "config.toml"}}, []string{"avx2"} }))
	b := must.Get(claimed(t, s, "b"))(t)
	if _, err := claim(t.Context(), s.kv, testKey, before, rev, "late"); !conflict(err) {
		t.Errorf("a claim of an entry that has changed: %v", err)
	}
	must.Fail(t, a.update(t.Context(), func(e *entry) { e.Status = done }), errLost)
	if e := b.entry(); e.Step != 10 || e.Worker != "b" || strings.Join(e.Levels, "+") != "avx2" {
		t.Errorf("entry %+v", e)
	}
	// A write succeeds and its acknowledgement is lost: the worker has the revision before it.
	b.rev--
	must.Do(t, b.update(t.Context(), func(e *entry) { e.Step = 11 }))
	// A server that lags behind returns an older entry: a write is tried again later.
	b.rev += 5
	if err := b.update(t.Context(), func(*entry) {}); !conflict(err) || errors.Is(err, errLost) {
		t.Errorf("error %v, expected a conflict", err)
	}
	must.Do(t, s.kv.Purge(t.Context(), entryPrefix+testKey))
	must.Fail(t, b.update(t.Context(), func(*entry) {}), errLost)
}

// A run that only loses workers fails at last.
func TestClaimsEnd(t *testing.T) {
	s := stored(t, entry{Status: running, Claims: maxClaims})
	must.Reject(claimed(t, s, "a"))(t, errLost)
	e, _, err := read(t.Context(), s.kv, testKey)
	must.Do(t, err)
	must.Equal(t, e.Status, failed, "status")
}

// A worker may take a run that nobody has, or whose entry has not changed for the lease.
func TestFree(t *testing.T) {
	w := Worker{seen: map[string]sighting{}}
	for _, status := range []string{stopped, done, failed, running, stopping} {
		must.Equal(t, w.free("key", entry{Status: status, Lease: time.Hour}, 1), false, "%s: free", status)
	}
	must.Equal(t, w.free("key", entry{Status: queued, Lease: time.Hour}, 1), true, "queued: free")
	w.seen["key"] = sighting{1, time.Now().Add(-2 * time.Hour)}
	must.Equal(t, w.free("key", entry{Status: running, Lease: time.Hour}, 1), true, "two hours without a change: free")
	must.Equal(t, w.free("key", entry{Status: running, Lease: time.Hour}, 2), false, "after a change: free")
}

func TestParse(t *testing.T) {
	ref := `{"path":"/data/x","hash":"` + strings.Repeat("0", 64) + `"}`
	j := must.Get(parseJob([]byte(`{"sweep":"0123456789abcdef","run":3,"config":"seed = 3","data":[` + ref + `]}`)))(t)
	cfg := must.Get(j.config())(t)
	if cfg.Seed != 3 || j.Data[0].base() != "x" || j.key() != "0123456789abcdef.3" {
		t.Errorf("job %+v", j)
	}
	for want, text := range map[string]string{
		"job:":            "{",
		`data "/data/.."`: `{"data":[` + strings.Replace(ref, "/data/x", "/data/..", 1) + `]}`,
		`data "/"`:        `{"data":[` + strings.Replace(ref, "/data/x", "/", 1) + `]}`,
	} {
		must.Reject(parseJob([]byte(text)))(t, want)
	}
	for want, text := range map[string]string{
		"entry:":                  "[]",
		"version 0":               "{}",
		`file "../../etc/passwd"`: `{"version":1,"files":[{"path":"../../etc/passwd"}]}`,
		"done without a result":   `{"version":1,"status":"done"}`,
		"1e999":                   `{"version":1,"status":"done","result":{"Best":{"val_loss":1e999}}}`,
	} {
		must.Reject(parseEntry([]byte(text)))(t, want)
	}
}

// Files are stored once per content. A file that the broker has lost is an error of the broker.
func TestFiles(t *testing.T) {
	s := stored(t, entry{})
	dir, to := t.TempDir(), t.TempDir()
	writeFile(t, dir, "last/checkpoint.safetensors", "one")
	first := must.Get(put(t.Context(), s.objects, dir, "a", nil, []byte("seed = 1")))(t)
	writeFile(t, dir, "last/checkpoint.safetensors", "two")
	second := must.Get(put(t.Context(), s.objects, dir, "b", first, []byte("seed = 1")))(t)
	if len(second) != 2 || second[0] != first[0] || second[1].Object == first[1].Object {
		t.Errorf("files %+v, then %+v", first, second)
	}
	must.Do(t, get(t.Context(), s.objects, to, second))
	must.Equal(t, readFile(t, to, "last/checkpoint.safetensors"), "two", "checkpoint")
	remove(t.Context(), s.objects, first, second)
	err := get(t.Context(), s.objects, to, first)
	must.Fail(t, err, first[1].Object, jetstream.ErrObjectNotFound)
}
