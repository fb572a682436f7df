//go:build unix

package recordings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A class of recordings whose folder has a name that a model cannot store is an error.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "\xe9t\xe9"), 0o777); err != nil {
		t.Skip("the file system has UTF-8 names only:", err)
	}
	must.Reject(Folder(t.Context(), dir, Options{}))(t, `\xe9t\xe9": the name of the folder is not UTF-8 text`)
}
