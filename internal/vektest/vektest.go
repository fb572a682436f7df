// Package vektest runs tests and benchmarks at every level of the processor. Only tests import it.
package vektest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Levels returns the levels to test: that of S4D_LEVEL, or all available ones but amx, which has
// few kernels of its own. It fails tb if S4D_LEVEL or S4D_REQUIRE_LEVELS (names separated by
// commas) names a level that is not available.
func Levels(tb testing.TB) []vek.Level {
	tb.Helper()
	levels, err := choose(os.Getenv("S4D_LEVEL"), os.Getenv("S4D_REQUIRE_LEVELS"), vek.Levels())
	if err != nil {
		tb.Fatal(err)
	}
	return levels
}

func choose(forced, required string, available []vek.Level) ([]vek.Level, error) {
	for name := range strings.SplitSeq(required, ",") {
		if l := vek.Level(strings.TrimSpace(name)); l != "" && !slices.Contains(available, l) {
			return nil, fmt.Errorf("vektest: S4D_REQUIRE_LEVELS: level %q is missing; available: %v", l, available)
		}
	}
	if forced == "" {
		return slices.DeleteFunc(slices.Clone(available), func(l vek.Level) bool { return l == vek.AMX }), nil
	}
	if !slices.Contains(available, vek.Level(forced)) {
		return nil, fmt.Errorf("vektest: S4D_LEVEL: level %q is missing; available: %v", forced, available)
	}
	return []vek.Level{vek.Level(forced)}, nil
}

// Emulated reports whether qemu runs the tests, which is about 20 times slower than a processor.
var Emulated = os.Getenv("S4D_EMULATED") != ""

// EachLevel runs f as a subtest at every level of Levels and restores the level in use.
func EachLevel(t *testing.T, f func(t *testing.T, level vek.Level)) {
	t.Helper()
	for _, l := range Levels(t) {
		t.Run("level="+string(l), func(t *testing.T) {
			use(t, l)
			f(t, l)
		})
	}
}

// BenchEachLevel runs f as the benchmark name/level=… at every level of Levels.
func BenchEachLevel(b *testing.B, name string, f func(b *testing.B)) {
	b.Helper()
	for _, l := range Levels(b) {
		b.Run(name+"/level="+string(l), func(b *testing.B) {
			use(b, l)
			f(b)
		})
	}
}

// use selects a level until tb ends.
func use(tb testing.TB, l vek.Level) {
	tb.Helper()
	before := vek.CurrentLevel()
	tb.Cleanup(func() {
		if err := vek.SetLevel(before); err != nil {
			tb.Error(err)
		}
	})
	if err := vek.SetLevel(l); err != nil {
		tb.Fatal(err)
	}
}
