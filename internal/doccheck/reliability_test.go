package doccheck

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// testFunction is the first line of a test, a fuzz target or an example.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// Each test that docs/reliability.md names exists. A row of its table is "| promise | `package`:
// `TestA`, `TestB`; `package`: `TestC` |".
func TestReliability(t *testing.T) {
	tests := map[string]bool{} // "package TestName"
	sources(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
				tests[path.Dir(name)+" "+m[1]] = true
			}
		}
	})
	const page = "docs/reliability.md"
	found, line := 0, 0
	for text := range strings.Lines(string(must.Get(os.ReadFile(filepath.Join(root, page)))(t))) {
		line++
		if !strings.HasPrefix(text, "|") || !strings.Contains(text, "`Test") {
			continue
		}
		pkg := ""
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(m[1], "Test") && !strings.HasPrefix(m[1], "Fuzz") {
				pkg = m[1]
			} else if found++; !tests[pkg+" "+m[1]] {
				t.Errorf("%s:%d: package %s has no test %s: remove `%s` from this row, and the row if it names no other test", page, line, pkg, m[1], m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%s: %d tests found, expected more than 20: is the form of the table another one?", page, found)
	}
}
