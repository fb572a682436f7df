package must_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// recorder takes the place of a test that fails.
type recorder struct {
	testing.TB
	fatal    []any
	messages []string
	logs     []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.fatal = args }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func TestDoAndGet(t *testing.T) {
	if got := must.Get(strconv.Atoi("7"))(t); got != 7 {
		t.Errorf("got %d, expected 7", got)
	}
	must.Do(t, nil)
	failure := errors.New("failure")
	for name, call := range map[string]func(testing.TB){
		"Do":  func(t testing.TB) { must.Do(t, failure) },
		"Get": func(t testing.TB) { must.Get(0, failure)(t) },
	} {
		r := &recorder{TB: t}
		if call(r); len(r.fatal) != 1 || r.fatal[0] != failure {
			t.Errorf("%s ended the test with %v, expected %v", name, r.fatal, failure)
		}
	}
}

func TestFailAndReject(t *testing.T) {
	for _, c := range []struct {
		err      error
		want     []any
		messages int
	}{
		{fs.ErrExist, []any{fs.ErrExist, "file", "exists"}, 0},
		{fs.ErrExist, []any{fs.ErrNotExist, "file", "missing"}, 2},
		{nil, []any{fs.ErrExist, "file"}, 2},
	} {
		one, two := &recorder{TB: t}, &recorder{TB: t}
		must.Fail(one, c.err, c.want...)
		must.Reject(7, c.err)(two, c.want...)
		if len(one.messages) != c.messages || !slices.Equal(one.messages, two.messages) {
			t.Errorf("error %v, expected %v: Fail reports %q, Reject %q", c.err, c.want, one.messages, two.messages)
		}
	}
}

func TestEqual(t *testing.T) {
	r := &recorder{TB: t}
	must.Equal(r, 3, 3, "the number of %s", "words")
	must.Equal(r, 2, 3, "the number of %s", "words")
	must.Equal(r, "a b", "a", "the word")
	want := []string{"the number of words: got 2, expected 3", `the word: got "a b", expected "a"`}
	if !slices.Equal(r.messages, want) {
		t.Errorf("messages %q, expected %q", r.messages, want)
	}
}

func TestAllocates(t *testing.T) {
	var sink []byte
	call := func() { sink = make([]byte, 1<<20) }
	if used := must.Allocated(call); used < 1<<20 || used > 2<<20 {
		t.Errorf("%d bytes allocated, expected %d", used, len(sink))
	}
	r := &recorder{TB: t}
	must.Allocates(r, 2<<20, call, "a %s", "file")
	must.Equal(t, len(r.messages), 0, "messages within the bound")
	must.Allocates(r, 1<<19, call, "a %s", "file")
	if len(r.messages) != 1 || !strings.HasPrefix(r.messages[0], "a file: 1") || !strings.HasSuffix(r.messages[0], "expected at most 524288") {
		t.Errorf("messages %q", r.messages)
	}
}

// HugeNumbers finds a reader that believes a size, and passes each file once.
func TestHugeNumbers(t *testing.T) {
	file := make([]byte, 120)
	var seen [][]byte
	var sink []byte
	read := func(b []byte) {
		seen = append(seen, b)
		if n := binary.BigEndian.Uint32(b[101:]); n == 1<<24 {
			sink = make([]byte, n)
		}
	}
	r := &recorder{TB: t}
	must.HugeNumbers(r, 1<<20, file, read)
	must.Equal(t, len(seen), 32*24+88, "files")
	// The runtime may allocate a few bytes more than the 16,777,216.
	if len(r.messages) == 0 || len(sink) != 1<<24 || !strings.Contains(r.messages[0], " of 120: 16") || !strings.Contains(r.messages[0], "01000000") {
		t.Errorf("messages %q", r.messages)
	}
	must.Equal(t, string(file), string(make([]byte, 120)), "the file itself")
}

func TestCases(t *testing.T) {
	t.Setenv(must.LongVariable, "")
	must.Equal(t, must.Cases(3, 200), 3, "cases in the short form")
	t.Setenv(must.LongVariable, "1")
	must.Equal(t, must.Cases(3, 200), 200, "cases in the long form")
}

// Damage passes every truncation and every flipped bit once, and reports those that did not hold.
func TestDamage(t *testing.T) {
	t.Setenv(must.LongVariable, "1")
	seen := map[string]int{}
	must.Damage(t, []byte("ab"), func(b []byte) bool { seen[string(b)]++; return true })
	if len(seen) != 18 || seen[""] != 1 || seen["a"] != 1 || seen["ab"] != 0 || seen["cb"] != 1 {
		t.Errorf("passed %v", seen)
	}
	var r recorder
	must.Damage(&r, []byte("ab"), func(b []byte) bool { return len(b) == 2 && b[0] != 'c' })
	if want := []string{"the first 0 of 2 bytes", "the first 1 of 2 bytes", "bit 1 of byte 0 of 2 bytes"}; len(r.messages) != len(want) {
		t.Errorf("reported %q, expected %q", r.messages, want)
	} else {
		for i, m := range r.messages {
			if !strings.Contains(m, want[i]) {
				t.Errorf("reported %q, expected %q", m, want[i])
			}
		}
	}
}
