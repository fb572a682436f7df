package must_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// stopped records that a test was ended.
type stopped struct {
	testing.TB
	args []any
}

func (s *stopped) Helper()           {}
func (s *stopped) Fatal(args ...any) { s.args = args }

func TestMust(t *testing.T) {
	if got := must.Get(strconv.Atoi("7"))(t); got != 7 {
		t.Errorf("got %d, expected 7", got)
	}
	must.Do(t, nil)
	failure := errors.New("failure")
	for name, call := range map[string]func(testing.TB){
		"Do":  func(t testing.TB) { must.Do(t, failure) },
		"Get": func(t testing.TB) { must.Get(0, failure)(t) },
	} {
		s := &stopped{TB: t}
		if call(s); len(s.args) != 1 || s.args[0] != failure {
			t.Errorf("%s ended the test with %v, expected %v", name, s.args, failure)
		}
	}
}
