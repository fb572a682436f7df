package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func mustExample(t testing.TB, s Set, dst *Example, i, epoch int) {
	t.Helper()
	must.Do(t, s.Example(dst, i, epoch))
}

// write writes a file and creates its folder.
func write(t testing.TB, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, content, 0o666))
}
