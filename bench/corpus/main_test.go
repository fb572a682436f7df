package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// fakeEspeak puts a fake espeak-ng first in PATH, which writes a tone of the given length. It
// returns a function that returns the texts and the arguments of all calls, one line per call.
func fakeEspeak(t *testing.T, seconds float64) (calls func() []string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the program that stands for espeak-ng needs sh")
	}
	dir := t.TempDir()
	tone := make([]float32, int(22050*seconds))
	for i := range tone {
		tone[i] = 0.3 * float32(math.Sin(0.1*float64(i)))
	}
	must.Do(t, audio.WriteWAVFile(filepath.Join(dir, "tone.wav"), 22050, tone))
	var voices strings.Builder
	for _, set := range []string{train, test} {
		for _, v := range accents[set] {
			voices.WriteString(" 5  " + v + " --/M English gmw/x\n")
		}
		for _, v := range variants[set] {
			voices.WriteString(" 5  variant --/M name !v/" + v + "\n")
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "voices"), []byte(voices.String()), 0o666))
	script := `#!/bin/sh
dir=${0%/*}
case $1 in
--voices=*) cat "$dir/voices" ;;
*) text=$(cat) && echo "$text|$*" >> "$dir/calls" && cat "$dir/tone.wav" ;;
esac
`
	must.Do(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o777))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		must.Do(t, err)
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

// corpus runs the program and returns what it prints.
func corpus(args ...string) (string, error) {
	var w bytes.Buffer
	err := run(context.Background(), args, &w)
	return w.String(), err
}

// tree returns the files of a folder and their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(b)
		return err
	}))
	return files
}

// No accent, variant or kind of noise is in both sets.
func TestSetsAreDisjoint(t *testing.T) {
	names := func(list []kind) (names []string) {
		for _, k := range list {
			names = append(names, k.name)
		}
		return names
	}
	for what, sets := range map[string][2][]string{
		"accent": {accents[train], accents[test]}, "variant": {variants[train], variants[test]},
		"kind of noise": {names(kinds[train]), names(kinds[test])},
	} {
		seen := map[string]bool{}
		for _, name := range slices.Concat(sets[0], sets[1]) {
			if seen[name] {
				t.Errorf("%s %q is listed twice", what, name)
			}
			seen[name] = true
		}
	}
}

// Voices of the set speak each word. A second run keeps existing files, and a run with another
// folder writes the same files.
func TestWords(t *testing.T) {
	calls := fakeEspeak(t, 0.4)
	out := t.TempDir()
	args := []string{"words", "-words", "commands,hello,go", "-without", "stop", "-clips", "3", "-set", test, "-rate", "8000", "-out"}
	text, err := corpus(append(args, out)...)
	must.Do(t, err)
	must.Equal(t, text, "10 words, 3 clips of each in "+out+"\n", "output")
	files := tree(t, out)
	must.Equal(t, len(files), 30, "files")
	for name := range files {
		parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/+_.", r) })
		if len(parts) != 6 || !slices.Contains(accents[test], parts[1]) || !slices.Contains(variants[test], parts[2]) ||
			parts[3] != "nohash" || parts[5] != "wav" || parts[0] == "stop" {
			t.Errorf("file %s, expected WORD/VOICE_nohash_N.wav", name)
		}
		x, format := must.Get(readWAV(filepath.Join(out, name)))(t)()
		if format.SampleRate != 8000 || len(x) < 3190 || len(x) > 3210 {
			t.Errorf("%s: %d samples at %d Hz, expected 0.4 s at 8000 Hz", name, len(x), format.SampleRate)
		}
	}
	for _, c := range calls() {
		word, flags, _ := strings.Cut(c, "|")
		if w := strings.Trim(word, ".,?!"); !slices.Contains(append(lists["commands"], "hello"), w) || !strings.Contains(flags, " -v en-") {
			t.Errorf("call %q, expected a word of the list and an English voice", c)
		}
	}
	lost := slices.Sorted(maps.Keys(files))[7]
	must.Do(t, os.Remove(filepath.Join(out, lost)))
	must.Get(corpus(append(args, out)...))(t)
	must.Equal(t, len(calls()), 31, "calls after one file was removed")
	other := t.TempDir()
	must.Get(corpus(append(args, other, "-workers", "1")...))(t)
	for _, dir := range []string{out, other} {
		if !maps.Equal(tree(t, dir), files) {
			t.Errorf("%s differs from the first run", dir)
		}
	}
	must.Get(corpus(append(args, t.TempDir(), "-seed", "2")...))(t)
	all := calls()
	if slices.Equal(sorted(all[:30]), sorted(all[61:])) {
		t.Error("seeds 1 and 2 speak in the same voices")
	}
}

func sorted(x []string) []string { return slices.Sorted(slices.Values(x)) }

// readWAV returns a function, because must.Get takes one value.
func readWAV(path string) (func() ([]float32, audio.Format), error) {
	x, f, err := audio.ReadWAVFile(path)
	return func() ([]float32, audio.Format) { return x, f }, err
}

// Sentences are spoken once each, in one voice per file, until a file has a minute. Those with
// excluded words are not spoken.
func TestSentences(t *testing.T) {
	calls := fakeEspeak(t, 13)
	dir, out := t.TempDir(), t.TempDir()
	var text strings.Builder
	for _, noun := range strings.Fields("cats dogs birds cows hens mice ducks frogs bees ants") {
		text.WriteString("Some " + noun + " sleep upon a mat. The " + noun + " go home. I saw 3 " + noun + " here today.<br /><br />")
	}
	path := filepath.Join(dir, "text.txt")
	must.Do(t, os.WriteFile(path, []byte(text.String()), 0o666))
	args := []string{"sentences", "-text", path, "-without", "commands, digits", "-rate", "4000", "-out", out, "-minutes"}
	said, err := corpus(append(args, "1.5")...)
	must.Do(t, err)
	must.Equal(t, said, "2 files of at least 60 s from 10 sentences in "+out+"\n", "output")
	for name, data := range tree(t, out) {
		if s := float64(len(data)-44) / 8000; s < 60 || s > 77 {
			t.Errorf("%s has %.1f s, expected 60 to 77", name, s)
		}
	}
	seen := map[string]bool{}
	for _, c := range calls() {
		sentence, _, _ := strings.Cut(c, "|")
		if seen[sentence] || !strings.HasSuffix(sentence, "sleep upon a mat.") {
			t.Errorf("spoken: %q, expected sentences without excluded words, once each", sentence)
		}
		seen[sentence] = true
	}
	must.Equal(t, len(seen), 10, "sentences spoken")
	must.Reject(corpus(append(args, "3")...))(t, path, "10 sentences", "3 minutes")
}

// A missing program or voice is an error before anything is made.
func TestMissingEspeak(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	words := func() error {
		_, err := corpus("words", "-words", "yes", "-out", out)
		return err
	}
	fakeEspeak(t, 1)
	path := strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0]
	voices := filepath.Join(path, "voices")
	must.Do(t, os.WriteFile(voices, bytes.ReplaceAll(must.Get(os.ReadFile(voices))(t), []byte("!v/klatt2"), nil), 0o666))
	must.Fail(t, words(), "no voice klatt2;", "1.51")
	broken := "#!/bin/sh\necho no data found >&2\nexit 3\n"
	must.Do(t, os.WriteFile(filepath.Join(path, program), []byte(broken), 0o777))
	must.Fail(t, words(), "--voices=en: exit status 3: no data found")
	t.Setenv("PATH", dir)
	must.Fail(t, words(), "espeak-ng is not installed", exec.ErrNotFound)
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the output folder: %v, expected that it does not exist", err)
	}
}

// The first error of a file ends the run and names the text.
func TestSilentEspeak(t *testing.T) {
	fakeEspeak(t, 0)
	must.Reject(corpus("words", "-words", "yes", "-out", t.TempDir()))(t, `text "yes`, "no sound")
}

// Wrong arguments are errors.
func TestUsage(t *testing.T) {
	out := t.TempDir()
	for want, args := range map[string][]string{
		`command "", expected words`:        {},
		`command "sing", expected words`:    {"sing"},
		"-out is required":                  {"words"},
		`unexpected argument "x"`:           {"words", "-out", out, "x"},
		`-set "both", expected train`:       {"noises", "-out", out, "-set", "both"},
		"-rate 100, expected 4000":          {"noises", "-out", out, "-rate", "100"},
		"-clips 0":                          {"words", "-out", out, "-clips", "0"},
		"-clips 9000000000000000000":        {"words", "-out", out, "-clips", "9000000000000000000"},
		"-minutes NaN":                      {"noises", "-out", out, "-minutes", "NaN"},
		"flag provided but not defined":     {"noises", "-out", out, "-words", "yes"},
		"-minutes 0, expected more than 0 ": {"sentences", "-out", out, "-minutes", "0"},
	} {
		must.Reject(corpus(args...))(t, want)
	}
	if text := must.Get(corpus("words", "-h"))(t); !strings.Contains(text, "-clips") {
		t.Errorf("help %q, expected the flags", text)
	}
}

// If espeak-ng is installed, it has all voices, and its output for a word is the same every time.
func TestRealEspeak(t *testing.T) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	ctx := t.Context()
	for _, set := range []string{train, test} {
		o := options{set: set}
		must.Do(t, o.findVoices(ctx))
		for file := range 20 {
			v := o.voice(o.dice(ofFile, file), 90, 240)
			x := must.Get(v.speak(ctx, "seven", 8000))(t)
			if s := float64(len(x)) / 8000; s < 0.15 || s > 1.5 {
				t.Errorf("%+v: %.2f s, expected 0.15 to 1.5", v, s)
			}
			if !slices.Equal(x, must.Get(v.speak(ctx, "seven", 8000))(t)) {
				t.Errorf("%+v speaks differently the second time", v)
			}
		}
	}
}
