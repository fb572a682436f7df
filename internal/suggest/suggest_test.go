package suggest

import (
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestHint(t *testing.T) {
	known := []string{"delay", "scifar", "smnist", "digits", "ssm.init", "ssm.step"}
	for _, test := range []struct{ name, expected string }{
		{"digitz", `; did you mean "digits"?`}, {"ssm.innit", `; did you mean "ssm.init"?`}, {"cifar", `; did you mean "scifar"?`},
		{"dealy", `; did you mean "delay"?`}, {"delay", ""}, {"", ""}, {"imagenet", ""}, {"runs/fsdd", ""},
	} {
		must.Equal(t, Hint(test.name, known), test.expected, "Hint(%q)", test.name)
	}
}

// Long names take no time, and are not repeated in an error.
func TestLongNames(t *testing.T) {
	known := []string{strings.Repeat("x", 1<<20), strings.Repeat("ab", 1<<19)}
	for _, name := range []string{known[0][1:], known[1][1:], strings.Repeat("x", 100), "x"} {
		if got := Hint(name, known); got != "" {
			t.Errorf("Hint of a name of %d bytes has %d bytes, expected none", len(name), len(got))
		}
	}
	long := strings.Repeat("a", 199)
	must.Equal(t, Hint(long, []string{long + "b"}), `; did you mean "`+long+`b"?`, "Hint of 199 bytes")
}

func TestList(t *testing.T) {
	must.Equal(t, List([]string{"a", "b c"}), `["a" "b c"]`, "List")
	names := make([]string, 1<<16)
	for i := range names {
		names[i] = strings.Repeat("x", 100)
	}
	got := List(names)
	if len(got) > 1000 || !strings.HasSuffix(got, "] and 65516 more") {
		t.Errorf("List of 65536 names has %d bytes and ends with %q", len(got), got[len(got)-30:])
	}
}

func TestDifference(t *testing.T) {
	a, b := Difference([]string{"x"}, []string{"x", "y"})
	must.Equal(t, a+b, `["x"]["x" "y"]`, "short lists")
	names := strings.Split(strings.Repeat("c,", 50), ",")
	other := slices.Clone(names)
	other[30] = "d"
	a, b = Difference(names, other)
	must.Equal(t, a+b, `(51, number 31 is "c")(51, number 31 is "d")`, "long lists")
	a, b = Difference(names, names[:40])
	must.Equal(t, a+b, `(51, number 41 is "c")(40)`, "a list that continues the other")
}
