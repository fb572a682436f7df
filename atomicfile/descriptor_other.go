//go:build !unix

package atomicfile

import "errors"

// duplicate is an error: no path stands for a descriptor.
func duplicate(int, string) (File, error) { return nil, errors.ErrUnsupported }
