package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Sentences are divided at their ends and at tags. Those with excluded words, numbers or unusual
// characters are left out.
func TestSplitText(t *testing.T) {
	without := excluded("commands,digits,Film")
	for text, want := range map[string][]string{
		"This is a test. Is it really one test?  - So it very much seems!":                            {"This is a test.", "So it very much seems!"},
		"He said\n“it’s   upon us” today.<br /><br />And then it ended":                               {`He said "it's upon us" today.`},
		"Do you know that man? She can't STOP it now. An up-beat song came. Play it (for me) please.": nil,
		"Part II is rather bad. It cost 10 pounds then. Rocky V was the last. Fish & chips are good.": nil,
		"The FILM was very bad. The films were very bad.":                                             {"The films were very bad."},
		"Too short here. " + strings.Repeat("and long ", 21) + "sentence.":                            nil,
		"": nil,
	} {
		if got := splitText(text, without); !slices.Equal(got, want) {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}

// For any text, all sentences consist of letters and punctuation marks and contain no excluded
// word.
// Text without sentences, and sentences without an end, cost memory in proportion to their bytes.
func TestReaderBounds(t *testing.T) {
	without := excluded("commands")
	for _, part := range []string{"a ", ". ", "<", "-", "\xff", "word word word word word. "} {
		text := strings.Repeat(part, 1<<20/len(part))
		must.Allocates(t, 64<<20, func() { splitText(text, without) }, "a mebibyte of %q", part)
	}
}

func FuzzSplitText(f *testing.F) {
	f.Add("This is a test. <b>Is it</b> really one?")
	f.Add("“Go up,” he said... I’ll stay here!) <")
	f.Add("a-one b c d. \xff e f g h!")
	without := excluded("commands,digits")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, s := range splitText(text, without) {
			total += len(s)
			words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(marks, r) })
			if len(words) < shortest || len(words) > longest {
				t.Errorf("%q has %d words", s, len(words))
			}
			for _, w := range words {
				if without[strings.ToLower(w)] || strings.Trim(w, letters) != "" {
					t.Errorf("%q has the word %q", s, w)
				}
			}
		}
		if total > 3*len(text)+3 { // splitText replaces a tag by " . " and a dash by " - "
			t.Errorf("%d bytes of sentences from %d bytes of text", total, len(text))
		}
	})
}

// Texts come from a file, a folder and archives. -match selects files by their path.
func TestReadText(t *testing.T) {
	dir := t.TempDir()
	files := []struct{ name, text string }{{"a/neg/1.txt", "first"}, {"a/pos/2.txt", "second"}, {"a/pos/urls.md", "no text"}}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		path := filepath.Join(dir, "folder", filepath.FromSlash(f.name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, []byte(f.text), 0o666))
		must.Do(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o666, Size: int64(len(f.text)), Typeflag: tar.TypeReg}))
		must.Get(w.Write([]byte(f.text)))(t)
	}
	must.Do(t, w.Close())
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	must.Get(z.Write(archive.Bytes()))(t)
	must.Do(t, z.Close())
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.tar"), archive.Bytes(), 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.tar.gz"), compressed.Bytes(), 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "short.tar"), archive.Bytes()[:1540], 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "bad.tar.xz"), archive.Bytes(), 0o666))
	sources := []string{"folder", "x.tar", "x.tar.gz"}
	if xz, err := exec.LookPath("xz"); err == nil {
		cmd := exec.Command(xz)
		cmd.Stdin = bytes.NewReader(archive.Bytes())
		must.Do(t, os.WriteFile(filepath.Join(dir, "x.tar.xz"), must.Get(cmd.Output())(t), 0o666))
		sources = append(sources, "x.tar.xz")
	}
	read := func(name, match string) ([]string, error) {
		return options{text: filepath.Join(dir, name), match: match}.readText(context.Background())
	}
	for _, source := range sources {
		for match, want := range map[string][]string{"": {"first", "second"}, "pos/": {"second"}} {
			if got := must.Get(read(source, match))(t); !slices.Equal(got, want) {
				t.Errorf("%s with -match %q: %q, expected %q", source, match, got, want)
			}
		}
		must.Reject(read(source, "nowhere"))(t, source, `contains "nowhere"`)
	}
	if got := must.Get(read("folder/a/pos/2.txt", ""))(t); !slices.Equal(got, []string{"second"}) {
		t.Errorf("a single file: %q", got)
	}
	must.Reject(read("short.tar", ""))(t, "short.tar", "unexpected EOF")
	must.Reject(read("bad.tar.xz", ""))(t, "bad.tar.xz")
	must.Reject(read("none.txt", ""))(t, os.ErrNotExist)
	must.Reject(options{}.readText(context.Background()))(t, "-text is required")
}

// Frequent words are ordered by their number of occurrences, then alphabetically. Contractions are
// left out.
func TestWordList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.txt")
	must.Do(t, os.WriteFile(path, []byte("The zoo. The ape<br />The end: don't stop it. An ape isn’t one! Stop, THE zoo"), 0o666))
	list := func(words, without string) ([]string, error) {
		return options{words: words, without: without, text: path, most: 3}.wordList(context.Background())
	}
	for args, want := range map[[2]string]string{
		{"frequent", ""}:                   "the ape stop",
		{"frequent", "commands"}:           "the ape zoo",
		{"yes, Zoo,yes,frequent", ""}:      "yes Zoo the ape stop",
		{"digits", "two,three"}:            "zero one four five six seven eight nine",
		{"commands,up,write", "commands"}:  "",
		{"near", "near"}:                   "",
		{"digits,commands", "commands"}:    strings.Join(lists["digits"], " "),
		{"frequent,hello", "digits,hello"}: "the ape stop",
		{"digits,to,yes", "near, digits"}:  "yes",
	} {
		got, err := list(args[0], args[1])
		if want == "" {
			must.Fail(t, err, "-without excludes every word")
		} else if strings.Join(got, " ") != want {
			t.Errorf("%q: %q (%v), expected %q", args, got, err, want)
		}
	}
	for _, bad := range []string{"", "yes,,no", "na\u00efve", "../x", "two words"} {
		must.Reject(list(bad, ""))(t, "expected a word of ASCII letters")
	}
}
