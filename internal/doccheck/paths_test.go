package doccheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A file or package of the repository in code quotes, such as `ssm/init.go`, `asm/vec.go` or
// `internal/vek`.
var quotedPath = regexp.MustCompile("`((?:asm|bench|internal|model|ssm|train|docs|fftkernel)/[a-z0-9_/.-]+)`")

// Every file of the repository that a document names exists.
func TestPaths(t *testing.T) {
	found := 0
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, ".md") {
			return
		}
		for _, m := range quotedPath.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	})
	if found < 50 {
		t.Errorf("%d paths found, expected more than 50: is the pattern out of date?", found)
	}
}
