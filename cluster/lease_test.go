package cluster

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// stored returns the store of a new broker with the entry of a queued run.
func stored(t *testing.T, e entry) *store {
	t.Helper()
	s := must.Get(create(t.Context(), connect(t, start(t)), LeastLease, 1))(t)
	e.Version = version
	must.Get(s.kv.Create(t.Context(), testKey, must.Get(json.Marshal(e))(t)))(t)
	return s
}

const testKey = "0123456789abcdef.0"

// A worker whose run was given to another one can neither write its entry nor finish it.
func TestLease(t *testing.T) {
	s := stored(t, entry{Status: queued, Name: "seed=1"})
	a := must.Get(claim(t.Context(), s.kv, testKey, "a"))(t)
	must.Do(t, a.update(t.Context(), func(e *entry) {
		e.Step, e.Files, e.Levels = 10, []file{{Path: "config.toml", SHA256: strings.Repeat("0", 64)}}, []string{"avx2"}
	}))
	must.Do(t, a.check(t.Context()))
	b := must.Get(claim(t.Context(), s.kv, testKey, "b"))(t)
	must.Fail(t, a.check(t.Context()), errLost)
	must.Fail(t, a.update(t.Context(), func(e *entry) { e.Status = done }), errLost)
	if e := b.entry(); e.Step != 10 || e.Worker != "b" || strings.Join(e.Levels, "+") != "avx2" {
		t.Errorf("entry %+v", e)
	}

	// A write succeeds and its acknowledgement is lost: the worker has the revision before it.
	b.rev--
	must.Do(t, b.update(t.Context(), func(e *entry) { e.Status = done }))
	must.Reject(claim(t.Context(), s.kv, testKey, "c"))(t, errOver)
	must.Do(t, s.kv.Purge(t.Context(), testKey))
	must.Fail(t, b.check(t.Context()), errOver)
	must.Fail(t, b.update(t.Context(), func(*entry) {}), errOver)
}

// An entry of a server that lags behind, in which the run still belongs to the worker before, does
// not end the run. A write is tried again later.
func TestLaggingServer(t *testing.T) {
	s := stored(t, entry{Status: queued})
	before := must.Get(claim(t.Context(), s.kv, testKey, "a"))(t)
	b := &lease{kv: s.kv, key: testKey, id: "b", now: before.now, rev: before.rev + 1}
	must.Do(t, b.check(t.Context()))
	if err := b.update(t.Context(), func(*entry) {}); !conflict(err) || errors.Is(err, errLost) {
		t.Errorf("error %v, expected a conflict", err)
	}
	must.Fail(t, (&lease{kv: s.kv, key: testKey, id: "b", rev: before.rev}).check(t.Context()), errLost)
}

// A run that only loses workers fails at last.
func TestClaimsEnd(t *testing.T) {
	s := stored(t, entry{Status: queued})
	for range maxClaims {
		must.Get(claim(t.Context(), s.kv, testKey, "a"))(t)
	}
	must.Reject(claim(t.Context(), s.kv, testKey, "b"))(t, errOver)
	e, _, err := read(t.Context(), s.kv, testKey)
	must.Do(t, err)
	must.Equal(t, e.Status, failed, "status")
	if !strings.Contains(e.Error, "50 workers") {
		t.Errorf("error %q", e.Error)
	}
}

// Files are stored once per content, and damaged ones are errors.
func TestFiles(t *testing.T) {
	s := stored(t, entry{})
	dir, to := t.TempDir(), t.TempDir()
	writeFile(t, dir, "config.toml", "seed = 1")
	writeFile(t, dir, "last/checkpoint.safetensors", "one")
	first := must.Get(put(t.Context(), s.objects, dir, "a", nil, nil))(t)
	writeFile(t, dir, "last/checkpoint.safetensors", "two")
	second := must.Get(put(t.Context(), s.objects, dir, "b", first, map[string][]byte{"config.toml": []byte("seed = 1")}))(t)
	if len(second) != 2 || second[0] != first[0] || second[1].Object == first[1].Object {
		t.Errorf("files %+v, then %+v", first, second)
	}
	must.Do(t, get(t.Context(), atomicfile.System(), s.objects, to, second, nil))
	must.Equal(t, readFile(t, to, "last/checkpoint.safetensors"), "two", "checkpoint")
	remove(t.Context(), s.objects, first, second)
	must.Fail(t, get(t.Context(), atomicfile.System(), s.objects, to, first[1:], nil), first[1].Object)
	wrong := second[1]
	wrong.SHA256 = first[1].SHA256
	err := get(t.Context(), atomicfile.System(), s.objects, to, []file{wrong}, nil)
	must.Fail(t, err, "expected 3 with "+wrong.SHA256)
	if errors.As(err, new(brokerError)) {
		t.Errorf("%v counts as an error of the broker", err)
	}
	must.Equal(t, readFile(t, to, "last/checkpoint.safetensors"), "two", "checkpoint after a damaged one")
}

func TestParse(t *testing.T) {
	ref := `{"path":"/data/x","hash":"` + strings.Repeat("0", 64) + `","size":3}`
	j := must.Get(parseJob([]byte(`{"version":2,"sweep":"0123456789abcdef","run":3,"config":"seed = 3","data":[` + ref + `]}`)))(t)
	cfg := must.Get(j.config())(t)
	if cfg.Seed != 3 || j.Data[0].base() != "x" || j.key() != "0123456789abcdef.3" {
		t.Errorf("job %+v", j)
	}
	for want, text := range map[string]string{
		"job:":                     "{",
		"version 3":                `{"version":3}`,
		`sweep "../x"`:             `{"version":2,"sweep":"../x"}`,
		"run -1":                   `{"version":2,"sweep":"0123456789abcdef","run":-1}`,
		`data "/data/.."`:          `{"version":2,"sweep":"0123456789abcdef","data":[` + strings.Replace(ref, "/data/x", "/data/..", 1) + `]}`,
		`data "/"`:                 `{"version":2,"sweep":"0123456789abcdef","data":[` + strings.Replace(ref, "/data/x", "/", 1) + `]}`,
		"expected at most 1048576": strings.Repeat(" ", maxJob+1),
	} {
		must.Reject(parseJob([]byte(text)))(t, want)
	}
	for want, text := range map[string]string{
		"entry:":                    "[]",
		"version 0":                 "{}",
		`file "../../etc/passwd"`:   `{"version":2,"files":[{"path":"../../etc/passwd"}]}`,
		"file config.toml of -1":    `{"version":2,"files":[{"path":"config.toml","size":-1}]}`,
		"expected at most 1048576 ": strings.Repeat(" ", maxJob+1),
	} {
		if _, err := parseEntry([]byte(text)); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%.40q: error %v, expected %q", text, err, want)
		}
	}
}

// An entry or a job that is accepted names only files of a run folder and data that stay in the
// cache.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":2,"files":[{"path":"config.toml","sha256":"00","size":1}]}`))
	f.Add([]byte(`{"version":2,"sweep":"0123456789abcdef","data":[{"path":"C:\\x"}]}`))
	f.Add([]byte(`{"version":2,"sweep":"0123456789abcdef","data":[{"path":"x","hash":"` + strings.Repeat("0", 64) + `","size":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := parseEntry(text); err == nil {
			must.Do(t, checkFiles(e.Files))
		}
		if j, err := parseJob(text); err == nil {
			total := int64(0)
			for _, r := range j.Data {
				if total += r.Size; total < 0 || r.Size < 0 || r.Size == math.MaxInt64 { // the cache adds these sizes
					t.Errorf("data %q have %d bytes, %d with those before", r.Path, r.Size, total)
				}
				if base := r.base(); strings.ContainsAny(base, `/\`) || base == "" || base == ".." {
					t.Errorf("data %q have the name %q", r.Path, base)
				}
			}
			_, _ = j.config()
		}
	})
}

// Workers renew the leases of their runs in time also after a later sweep has shortened them to the
// usual one.
func TestRenewEvery(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{time.Hour: usualLease / 3, usualLease: usualLease / 3, LeastLease: LeastLease / 3} {
		must.Equal(t, renewEvery(lease), want, "time between two renewals of a lease of %v", lease)
	}
}
