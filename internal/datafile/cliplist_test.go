package datafile

import (
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestParseList(t *testing.T) {
	got, err := parseList(strings.NewReader(" yes/a.wav \r\n\r\n\nno/b.wav"))
	if err != nil || !slices.Equal(got, []string{"yes/a.wav", "no/b.wav"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"a.wav", "a/b/c.wav", "/a.wav", "a/", "./a/b.wav", "..", strings.Repeat("x", 1<<17)} {
		if got, err := parseList(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q: %v, no error", text, got)
		}
	}
}

// Endless lines cost no more memory than docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	var err error
	text := "a/b\n" + strings.Repeat("a", 1<<24)
	must.Allocates(t, 1<<18, func() { _, err = parseList(strings.NewReader(text)) }, "a line of 2²⁴ bytes")
	must.Fail(t, err, "line 2: longer than 16384 bytes")
}
