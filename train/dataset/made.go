package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// madeFile says in a folder by which command its data was made.
const madeFile = "made-by.txt"

// claim makes a folder for the data that a command makes, and says so in it. A folder that holds one of names is refused
// unless it says the same: that command was interrupted, or makes the same again. The error is an os.ErrExist.
func claim(dir, command string, names ...string) error {
	path := filepath.Join(dir, madeFile)
	said, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("dataset: folder %s: %w", dir, err)
	}
	switch {
	case string(said) == command+"\n":
		return nil
	case err == nil:
		return fmt.Errorf("dataset: %s: %w, with the data of `%s`, not of `%s`: want another folder", dir, os.ErrExist, strings.TrimSpace(string(said)), command)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("dataset: %s: %w, and is not known to be of `%s`: want another folder", filepath.Join(dir, name), os.ErrExist, command)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("dataset: folder %s: %w", dir, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, command)
		return err
	})
}
