// Package must has the checks that most tests need: unexpected errors, expected errors, equality,
// allocations.
package must

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes the results of a call. The function that it returns ends the test if err is not nil,
// and otherwise returns v:
//
//	m := must.Get(model.Load(path))(t)
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Fail reports an error unless err is each of the expected errors (errors.Is) and contains each of
// the expected strings. It panics if want holds anything else.
func Fail(t testing.TB, err error, want ...any) {
	t.Helper()
	for _, w := range want {
		switch w := w.(type) {
		case error:
			if !errors.Is(err, w) {
				t.Errorf("error %v, expected %q", err, w)
			}
		case string:
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error %v, expected one that contains %q", err, w)
			}
		default:
			panic(fmt.Sprintf("must: %T: expected an error or a string", w))
		}
	}
}

// Reject is Fail for a call that returns a value and an error:
//
//	must.Reject(model.Load(path))(t, fs.ErrNotExist, path)
func Reject[T any](_ T, err error) func(t testing.TB, want ...any) {
	return func(t testing.TB, want ...any) {
		t.Helper()
		Fail(t, err, want...)
	}
}

// Equal reports an error unless got equals want. The format and its arguments say what got is.
func Equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got == want {
		return
	}
	verb := "%v"
	if _, ok := any(got).(string); ok {
		verb = "%q"
	}
	t.Errorf("%s: got "+verb+", expected "+verb, fmt.Sprintf(format, args...), got, want)
}

// Allocated returns the number of bytes that all goroutines allocate while call runs.
func Allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Allocates reports an error if call allocates more than most bytes. The format and its arguments
// say what call reads.
func Allocates(t testing.TB, most int, call func(), format string, args ...any) {
	t.Helper()
	if used := Allocated(call); used > uint64(most) {
		t.Errorf("%s: %d bytes allocated, expected at most %d", fmt.Sprintf(format, args...), used, most)
	}
}

// HugeNumbers calls read with copies of file. In each copy a huge number, such as a forged size,
// overwrites the bytes at one offset: 4 and 8 bytes, in both byte orders. It tries all numbers in
// the first 32 bytes, and one of them at each other offset. A call that allocates more than most
// bytes is an error.
func HugeNumbers(t testing.TB, most int, file []byte, read func(b []byte)) {
	t.Helper()
	var numbers [][]byte
	for _, n := range []uint64{1 << 24, 1 << 28, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1 << 62, 1<<63 - 1, 1<<64 - 1} {
		if n < 1<<32 {
			numbers = append(numbers, binary.LittleEndian.AppendUint32(nil, uint32(n)), binary.BigEndian.AppendUint32(nil, uint32(n)))
		}
		numbers = append(numbers, binary.LittleEndian.AppendUint64(nil, n), binary.BigEndian.AppendUint64(nil, n))
	}
	for at := range file {
		for i, number := range numbers {
			if at < 32 || i == at%len(numbers) {
				b := slices.Clone(file)
				copy(b[at:], number)
				Allocates(t, most, func() { read(b) }, "%x at byte %d of %d", number, at, len(b))
			}
		}
	}
}

// LongVariable is the environment variable that selects the long form of the tests of promises.
const LongVariable = "S4D_LONG"

// Cases returns the number of cases of a promise that a test tries: long if LongVariable is set,
// otherwise short.
func Cases(short, long int) int {
	if os.Getenv(LongVariable) != "" {
		return long
	}
	return short
}

// Damage passes every truncation of a file, and the file with one bit of each byte flipped, in the
// long form with each bit, to held. It reports an error unless the bytes are rejected without an
// effect, or mean the same as the file.
func Damage(t testing.TB, file []byte, held func(damaged []byte) bool) {
	t.Helper()
	check := func(damaged []byte, where string, at int) {
		if !held(damaged) {
			t.Errorf("%s %d of %d bytes: accepted as another content", where, at, len(file))
		}
	}
	for n := range file {
		check(file[:n:n], "the first", n)
	}
	for i := range 8 * len(file) {
		if i%8 != i/8%8 && Cases(0, 1) == 0 {
			continue
		}
		damaged := slices.Clone(file)
		damaged[i/8] ^= 1 << (i % 8)
		check(damaged, fmt.Sprintf("bit %d of byte", i%8), i/8)
	}
}
