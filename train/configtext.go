package train

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// Bounds of a configuration's text. A parsed key takes time in proportion to the square of its
// depth, or more: without the bound, 30 kB of dots or braces take a minute.
const (
	maxConfig = 1 << 20 // bytes
	maxDepth  = 32      // of arrays and tables in one another, and of the parts of a dotted key
)

// ReadConfig returns the text of a configuration file, of at most 1 MiB. Errors contain the path.
func ReadConfig(path string) ([]byte, error) {
	return atomicfile.System().ReadFile(path, maxConfig)
}

// checkText returns an error for a text that is too large or too deep to be parsed.
func checkText(text []byte) error {
	if len(text) > maxConfig {
		return fmt.Errorf("%d bytes, expected a configuration of at most %d", len(text), maxConfig)
	}
	open, parts, line := 0, 0, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			line, parts = line+1, 0
		case '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			end := stringEnd(text, i)
			for _, b := range text[i:end] {
				if b == '\n' {
					line++
				}
			}
			i = end - 1
		case '[', '{':
			open, parts = open+1, 0
		case ']', '}':
			open, parts = max(open-1, 0), 0
		case '.':
			parts++
		case '=', ',':
			parts = 0
		}
		if open > maxDepth || parts > maxDepth {
			return fmt.Errorf("line %d: more than %d levels of arrays, tables or parts of a key", line, maxDepth)
		}
	}
	return nil
}

// stringEnd returns the index after the string that begins at text[i], or the text's length.
func stringEnd(text []byte, i int) int {
	quote, count := text[i], 1
	if len(text) >= i+3 && text[i+1] == quote && text[i+2] == quote {
		count = 3
	}
	run := 0 // of quotes that end the string
	for i += count; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
			run = 0
		case text[i] == quote:
			if run++; run == count {
				return i + 1
			}
		case text[i] == '\n' && count == 1: // not valid: the parser reports it
			return i
		default:
			run = 0
		}
	}
	return len(text)
}
