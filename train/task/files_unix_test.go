//go:build unix

package task

import (
	"os"
	"path/filepath"
	"testing"
)

// A class whose folder has a name that a model cannot store is an error.
func TestNamesOfClasses(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "train", "\xe9t\xe9"), 0o777); err != nil {
		t.Skip("the file system has UTF-8 names only:", err)
	}
	pngFiles(t, filepath.Join(dir, "train"), 32, 10, "\xe8", "\xe9t\xe9")
	mustFail(t, "folders", "image", Options{Dir: dir, Split: "train"}, dir, `class "\xe8": the name is not UTF-8 text`)
}
