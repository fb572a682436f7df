package datafile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// EachLine calls f with every line of a text, without its end. A line of more than longest bytes is
// an error. Errors name the line.
func EachLine(r io.Reader, longest int, f func(line string) error) error {
	in, n := bufio.NewScanner(r), 1
	in.Buffer(nil, longest)
	for ; in.Scan(); n++ {
		if err := f(in.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	err := in.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("longer than %d bytes", longest)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}
