// Package vektest is the harness of internal/vek's tests. Given a kernel, its formula in float64
// and an error bound, it tests the kernel at every level, length, alignment and permitted alias.
//
// Arguments are placed between guard pages (canaries on systems without them). Scratch and outputs
// start dirty, and inputs must not change. Pointwise and Reduction describe most kernels; Call
// places the arguments of any other.
package vektest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Levels returns the levels to test: that of S4D_LEVEL, or all available ones. It fails tb if
// S4D_LEVEL or S4D_REQUIRE_LEVELS (names separated by commas) names a level that is not available.
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
		return available, nil
	}
	if !slices.Contains(available, vek.Level(forced)) {
		return nil, fmt.Errorf("vektest: S4D_LEVEL: level %q is missing; available: %v", forced, available)
	}
	return []vek.Level{vek.Level(forced)}, nil
}

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

// maxLanes is the widest vector of any level, in floats.
const maxLanes = 16

// Sizes returns the lengths with which every kernel is tested: 0 … 4·lanes+1, and large ones on
// both sides of powers of two.
func Sizes() []int {
	var sizes []int
	for n := range 4*maxLanes + 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, 127, 128, 511, 512, 513, 1000, LargestSize)
}

// LargestSize is the last of Sizes.
const LargestSize = 4099
