package doccheck

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// generated is the line that marks a file that nobody edits; see go help generate.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// No line of a comment is longer than 100 columns. Directives such as //go:build may be.
func TestCommentWidth(t *testing.T) {
	const limit, tab = 100, 4
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, ".go") || generated.MatchString(text) {
			return
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(strings.TrimLeft(line, "\t"), "// ") {
				continue
			}
			columns := (tab - 1) * strings.Count(line, "\t")
			for _, r := range line {
				if !unicode.Is(unicode.Mn, r) { // marks such as the bar of λ̄
					columns++
				}
			}
			if columns > limit {
				t.Errorf("%s:%d: a comment of %d columns, expected at most %d", name, n, columns, limit)
			}
		}
	})
}
