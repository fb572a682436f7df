package studio

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/train/recordings"
)

// maxName is the largest number of characters of a name.
const maxName = 40

// maxFolder is the largest number of bytes of a folder's name: letters have at most four bytes, and
// file systems allow 255.
const maxFolder = 4*maxName + 20

// checkName returns an error unless a name of a word or of a project can be the name of a folder,
// and is not one that the task audio reserves. what is the thing that is named.
func checkName(what, name string) error {
	bad := func(expected string) error { return badRequest("%s %q: expected %s", what, name, expected) }
	switch {
	case !utf8.ValidString(name):
		return bad("UTF-8")
	case name == "" || utf8.RuneCountInString(name) > maxName:
		return badRequest("%s %q: expected 1 to %d characters", what, name, maxName)
	case strings.EqualFold(name, events.None):
		return bad("another name: it stands for sounds that are not words")
	case strings.Trim(name, " ") != name:
		return bad("no space at its beginning and end")
	}
	for i, c := range name {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c) && i > 0:
		case i > 0 && strings.ContainsRune(" -_'’", c):
		default:
			return bad("letters and digits, and after the first one also spaces, hyphens, underscores and apostrophes")
		}
	}
	return nil
}

// kind is what the recordings of a folder are.
type kind string

// The kinds of folders, by their names (docs/training.md).
const (
	word       kind = "word"
	background kind = "background"
	other      kind = "other" // sounds that are not to be detected
)

// The folders that the page adds to. A project may have further ones of these kinds.
const (
	backgroundFolder = "_background"
	otherFolder      = "_other"
)

// kindOf returns the kind of a folder of the task audio.
func kindOf(name string) kind {
	switch {
	case !strings.HasPrefix(name, "_"):
		return word
	case recordings.IsBackground(name):
		return background
	}
	return other
}
