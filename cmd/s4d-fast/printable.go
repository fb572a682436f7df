package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable returns text that is safe on a terminal: characters that do not print, such as the
// escape character, are replaced by their Go escapes. Text from files, such as labels, must pass
// through it. Line breaks and tabs are kept only where keep lists them.
func printable(text, keep string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
