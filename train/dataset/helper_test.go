package dataset

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func mustExample(t testing.TB, s Set, dst *Example, i, epoch int) {
	t.Helper()
	must.Do(t, s.Example(dst, i, epoch))
}
