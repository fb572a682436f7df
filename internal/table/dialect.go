package table

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// Format is the format of the rows.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// FormatOf returns the format of a file, by its name.
func FormatOf(path string) Format {
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".jsonl" || ext == ".ndjson" {
		return JSONL
	}
	return CSV
}

var byteOrderMark = []byte("\ufeff")

// dialect is how an input writes its rows.
type dialect struct {
	separator byte // of CSV
	named     bool // the first line, or the objects of JSON Lines, name the columns
}

// detect returns the dialect of an input, except for the header of CSV, by its first line.
func detect(line []byte, f Format) dialect {
	if f == JSONL {
		return dialect{named: bytes.HasPrefix(bytes.TrimSpace(line), []byte{'{'})}
	}
	return dialect{separator: separator(line)}
}

// separator returns a tab or a semicolon if a line of CSV has one outside quotes, and otherwise a
// comma.
func separator(line []byte) byte {
	quoted := false
	found := byte(',')
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\t':
			return c
		case c == ';':
			found = c
		}
	}
	return found
}

// isHeader reports whether the cells of the first line of CSV are names: one that the caller looks
// for is among them, or no number.
func isHeader(cells []string, names map[string]bool) bool {
	isNumber := func(cell string) bool { _, err := ParseFloat(cell, 64); return err == nil }
	isName := func(cell string) bool { return cell != "" && names[cell] && !isNumber(cell) }
	return slices.ContainsFunc(cells, isName) || !slices.ContainsFunc(cells, isNumber)
}
