package calibration

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// show lists clips with paths relative to dir.
func show(t *testing.T, dir string, clips []Clip) string {
	t.Helper()
	var list []string
	for _, c := range clips {
		name := must.Get(filepath.Rel(dir, c.Path))(t)
		list = append(list, c.Label+"="+filepath.ToSlash(name))
	}
	return strings.Join(list, " ")
}

// Labels are the names of folders, the first group of a pattern, or stand in a list.
func TestClips(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"yes/a.wav", "yes/more/b.wav", "no/c.wav", "none/d.wav", "_other_/e.wav", "_other_/f.wav", "top.wav", "yes/notes.txt", "7_tom_3.wav", "7_tom_9.wav"} {
		testfiles.Write(t, filepath.Join(dir, name), "")
	}
	list := filepath.Join(dir, "lists", "val.txt")
	write := func(text string) { testfiles.Write(t, list, text) }
	labels := []string{"yes", "no", "none", "7"}
	for _, c := range []struct {
		path, pattern, text string
		want, unknown       string
	}{
		{dir, "", "", "no=no/c.wav yes=yes/a.wav yes=yes/more/b.wav", "[_other_ none]"},
		{dir, `^(\d)_tom_[0-4]\.wav$`, "", "7=7_tom_3.wav", "[]"},
		{dir, `^yes/(more)?`, "", "", ""},
		{dir, `^(yes|_other_)/.*[be]\.wav`, "", "yes=yes/more/b.wav", "[_other_]"},
		{list, "", "../yes/a.wav\tno\r\n\n# comment\n" + dir + "/no/c.wav\tyes\n", "no=yes/a.wav yes=no/c.wav", "[]"},
		{list, "", "yes/x.wav\nno/y.wav\nmaybe/z.wav", "yes=lists/yes/x.wav no=lists/no/y.wav", "[maybe]"},
		{list, `/(\d)_`, "../a/7_x.wav\n../a/x.wav\n./b/8_y.wav", "7=a/7_x.wav", "[8]"},
	} {
		write(c.text)
		var pattern *regexp.Regexp
		if c.pattern != "" {
			pattern = regexp.MustCompile(c.pattern)
		}
		clips, unknown, _, err := Clips(c.path, labels, pattern)
		if c.want == "" {
			must.Fail(t, err, "no clip with a label of the model (yes, no, none, 7)")
			continue
		}
		must.Do(t, err)
		must.Equal(t, show(t, dir, clips), c.want, "clips of %+v", c)
		must.Equal(t, fmt.Sprint(unknown), c.unknown, "unknown labels of %+v", c)
	}
	_, _, ignored, err := Clips(dir, labels, nil)
	must.Do(t, err)
	must.Equal(t, strings.ReplaceAll(strings.Join(ignored, ", "), dir+string(filepath.Separator), ""), strings.Join([]string{
		"7_tom_3.wav: not in the folder of a label", "7_tom_9.wav: not in the folder of a label", "top.wav: not in the folder of a label",
		filepath.Join("lists", "val.txt") + ": not in a known format of sound", filepath.Join("yes", "notes.txt") + ": not in a known format of sound",
	}, ", "), "ignored files")
	for text, want := range map[string]string{
		"yes/a.wav\nb.wav\n": `val.txt: line 2: "b.wav", expected LABEL/FILE, or a path, a tab and a label`,
		"a.wav\t\n":          "line 1",
		"\tyes\n":            "line 1",
		"a\tb\tc\n":          "line 1",
		"yes/a.wav\n" + strings.Repeat("x", maxListLine): "line 2: longer than 16384 bytes",
	} {
		write(text)
		_, _, _, err := Clips(list, labels, nil)
		must.Fail(t, err, want)
	}
	_, _, _, err = Clips(filepath.Join(dir, "missing"), labels, nil)
	must.Fail(t, err, "calibration: ", "missing")
}
