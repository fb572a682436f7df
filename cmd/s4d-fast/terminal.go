package main

import (
	"os"

	"golang.org/x/term"
)

// terminal returns the standard streams of the process.
func terminal() streams {
	return streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		errTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
}
