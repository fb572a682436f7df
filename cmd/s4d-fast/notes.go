package main

import (
	"errors"
	"fmt"
)

// note tells the user how an input was read where it could have been read in two ways, and which
// flag changes that: a line on standard error for each text. With --strict it is an error. Text
// that leaves nothing to choose is no note. A text is printed once.
func (s *streams) note(texts ...string) error {
	var errs []error
	for _, text := range texts {
		switch {
		case s.strict:
			errs = append(errs, fmt.Errorf("%s (an error because of --strict)", text))
		case !s.noted[text]:
			fmt.Fprintf(s.err, "note: %s\n", printable(text, ""))
		}
		s.noted[text] = true
	}
	return badInput(errors.Join(errs...))
}
