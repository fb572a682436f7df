package calibration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// touch creates empty files, with slashes in their names.
func touch(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, nil, 0o666))
	}
}

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
	touch(t, dir, "yes/a.wav", "yes/more/b.wav", "no/c.wav", "none/d.wav", "_other_/e.wav", "_other_/f.wav", "top.wav", "yes/notes.txt", "7_tom_3.wav", "7_tom_9.wav")
	list := filepath.Join(dir, "lists", "val.txt")
	must.Do(t, os.Mkdir(filepath.Dir(list), 0o777))
	write := func(text string) { must.Do(t, os.WriteFile(list, []byte(text), 0o666)) }
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
		opt := ClipOptions{Labels: labels}
		if c.pattern != "" {
			opt.Pattern = regexp.MustCompile(c.pattern)
		}
		clips, unknown, _, err := Clips(c.path, opt)
		if c.want == "" {
			must.Fail(t, err, "no clip with a label of the model (yes, no, none, 7)")
			continue
		}
		must.Do(t, err)
		must.Equal(t, show(t, dir, clips), c.want, "clips of %+v", c)
		must.Equal(t, fmt.Sprint(unknown), c.unknown, "unknown labels of %+v", c)
	}
	clips, unknown, ignored, err := Clips(dir, ClipOptions{Labels: labels, Others: true})
	must.Do(t, err)
	must.Equal(t, show(t, dir, clips), "none=_other_/e.wav none=_other_/f.wav no=no/c.wav none=none/d.wav yes=yes/a.wav yes=yes/more/b.wav", "clips with others")
	must.Equal(t, fmt.Sprint(unknown), "[_other_ none]", "unknown labels")
	must.Equal(t, strings.ReplaceAll(strings.Join(ignored, ", "), dir+string(filepath.Separator), ""), strings.Join([]string{
		"7_tom_3.wav: not in the folder of a label", "7_tom_9.wav: not in the folder of a label", "top.wav: not in the folder of a label",
		filepath.Join("lists", "val.txt") + ": not WAV, FLAC, MP3 or Ogg Vorbis", filepath.Join("yes", "notes.txt") + ": not WAV, FLAC, MP3 or Ogg Vorbis",
	}, ", "), "ignored files")
	for text, want := range map[string]string{
		"yes/a.wav\nb.wav\n": `val.txt: line 2: "b.wav", expected LABEL/FILE, or a path, a tab and a label`,
		"a.wav\t\n":          "line 1",
		"\tyes\n":            "line 1",
		"a\tb\tc\n":          "line 1",
		"yes/a.wav\n" + strings.Repeat("x", maxListLine): "line 2: longer than 16384 bytes",
	} {
		write(text)
		_, _, _, err := Clips(list, ClipOptions{Labels: labels})
		must.Fail(t, err, want)
	}
	_, _, _, err = Clips(filepath.Join(dir, "missing"), ClipOptions{Labels: labels})
	must.Fail(t, err, "calibration: ", "missing")
}

// A list gives one clip per line at most, each with a path and a label that stand in its line.
func FuzzReadList(f *testing.F) {
	for _, seed := range []string{"", "yes/a.wav\n", "a b.wav\tno\r\n# x\n\n", "./x/y/z.wav", "\t", "a\tb\tc", "a\x00/b\n"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	pattern := regexp.MustCompile(`^([a-z]+)/`)
	f.Fuzz(func(t *testing.T, text string, use bool) {
		var p *regexp.Regexp
		if use {
			p = pattern
		}
		clips, err := readList(strings.NewReader(text), p)
		if err != nil {
			if len(clips) > 0 || !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%d clips and error %v", len(clips), err)
			}
			return
		}
		lines := strings.Split(text, "\n")
		if len(clips) > len(lines) {
			t.Fatalf("%d clips in %d lines", len(clips), len(lines))
		}
		next := 0
		for _, c := range clips {
			if c.Path == "" || c.Label == "" {
				t.Fatalf("clip %+v", c)
			}
			for next < len(lines) && !(strings.Contains(lines[next], filepath.ToSlash(c.Path)) && strings.Contains(lines[next], c.Label)) {
				next++
			}
			if next++; next > len(lines) {
				t.Fatalf("clip %+v stands in no line after those before it: %q", c, text)
			}
		}
	})
}
