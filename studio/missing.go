package studio

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
)

// missing returns an apiError for a file that does not exist, is outside the project, or is not a
// folder although one is expected.
func missing(err error, format string, args ...any) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(http.StatusNotFound, format+" does not exist", args...)
	case notFolder(err):
		return fail(http.StatusNotFound, format+" is not a folder", args...)
	case err != nil && strings.Contains(err.Error(), "escapes from parent"):
		return fail(http.StatusForbidden, format+" is outside the folder", args...)
	}
	return err
}

// notFolder reports whether an error is ENOTDIR, or that of os.Root.
func notFolder(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "not a directory")
}

// unlessGone returns nil if the error is that a file does not exist: another request or program
// has removed it.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
