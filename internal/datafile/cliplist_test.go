package datafile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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

func FuzzParseList(f *testing.F) {
	f.Add("yes/a_nohash_0.wav\nno/b.wav\n")
	f.Add("./x/../y/z.wav\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		clips, err := parseList(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := parseList(strings.NewReader(strings.Join(clips, "\n")))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(clips) {
			t.Errorf("%q is read as %q, that as %q, error %v", text, clips, again, err)
		}
	})
}
