package corpus

import (
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

// fakeEspeak puts a program first in PATH that stands for espeak-ng and writes a tone of the given
// length. It returns a function that returns the texts and the arguments of all calls, one line per
// call.
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
	script := "#!/bin/sh\ndir=${0%/*}\ntext=$(cat) && echo \"$text|$*\" >> \"$dir/calls\" && cat \"$dir/tone.wav\"\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o777))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		return strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(dir, "calls")))(t))), "\n")
	}
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

// No accent, variant or kind of noise is in both splits.
func TestSplitsAreDisjoint(t *testing.T) {
	names := func(list []kind) (names []string) {
		for _, k := range list {
			names = append(names, k.name)
		}
		return names
	}
	for what, all := range map[string][]string{
		"accent": slices.Concat(accents[Train], accents[Test]), "variant": slices.Concat(variants[Train], variants[Test]),
		"kind of noise": slices.Concat(names(kinds[Train]), names(kinds[Test])),
	} {
		slices.Sort(all)
		must.Equal(t, len(slices.Compact(slices.Clone(all))), len(all), "different values of %s", what)
	}
}

// espeak-ng receives the voice, pitch, speed and level.
func TestArguments(t *testing.T) {
	v := voice{accent: "en-us", variant: "f2", pitch: 40, speed: 120, level: 60}
	must.Equal(t, strings.Join(v.arguments(), " "), "--stdin --stdout -z -b 1 -v en-us+f2 -p 40 -s 120 -a 60", "arguments")
	v.variant = ""
	must.Equal(t, v.name(), "en-us", "a voice without a variant")
}

// Voices of the split speak each word. A second call makes only files that are missing, and the
// same options give the same files.
func TestWords(t *testing.T) {
	calls := fakeEspeak(t, 0.4)
	o := Options{Out: t.TempDir(), Split: Test}
	words := []string{"hello", "go"}
	must.Do(t, Words(t.Context(), o, words, 3))
	files := tree(t, o.Out)
	must.Equal(t, len(files), 6, "files")
	for name := range files {
		parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/+_.", r) })
		if len(parts) != 6 || !slices.Contains(words, parts[0]) || !slices.Contains(accents[Test], parts[1]) || !slices.Contains(variants[Test], parts[2]) {
			t.Errorf("file %s, expected WORD/ACCENT+VARIANT_nohash_N.wav", name)
		}
		x := must.Get(audio.ReadMono(filepath.Join(o.Out, name), rate))(t)
		if len(x) < 6380 || len(x) > 6420 {
			t.Errorf("%s: %d samples, expected 0.4 s at 16000 Hz", name, len(x))
		}
	}
	must.Do(t, os.Remove(filepath.Join(o.Out, slices.Sorted(maps.Keys(files))[2])))
	must.Do(t, Words(t.Context(), o, words, 3))
	must.Equal(t, len(calls()), 7, "calls after one file was removed")
	if !maps.Equal(tree(t, o.Out), files) {
		t.Error("the second call made other files")
	}
	voices := func(word string) (list []voice) {
		for i := range 3 {
			list = append(list, o.voice(o.draws(word, i), 90, 240))
		}
		return list
	}
	if slices.Equal(voices("hello"), voices("go")) {
		t.Error("two words have the same voices")
	}
}

// Sentences of .txt files are spoken once each, in one voice per file, until a file has a minute.
func TestSentences(t *testing.T) {
	calls := fakeEspeak(t, 13)
	dir := t.TempDir()
	var text strings.Builder
	for _, noun := range strings.Fields("cats dogs birds cows hens mice ducks frogs bees ants") {
		text.WriteString("Some " + noun + " sleep upon a mat. The " + noun + " go home. I saw 3 " + noun + " here today.<br /><br />")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text.String()), 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "b.md"), []byte("This is not a text."), 0o666))
	o := Options{Out: t.TempDir(), Split: Train}
	must.Do(t, Sentences(t.Context(), o, dir, []string{"Go"}, 1.5))
	files := tree(t, o.Out)
	must.Equal(t, len(files), 2, "files")
	for name, data := range files {
		if s := float64(len(data)-44) / 32000; s < 60 || s > 77 {
			t.Errorf("%s has %.1f s, expected 60 to 77", name, s)
		}
	}
	seen := map[string]bool{}
	for _, c := range calls() {
		said, _, _ := strings.Cut(c, "|")
		if seen[said] || !strings.HasPrefix(said, "Some ") {
			t.Errorf("said %q, expected a sentence without excluded words, once", said)
		}
		seen[said] = true
	}
	o.Out = t.TempDir()
	must.Fail(t, Sentences(t.Context(), o, dir, nil, 60), "sentences, expected more for 60 minutes")
	must.Fail(t, Sentences(t.Context(), o, filepath.Join(dir, "none"), nil, 1), fs.ErrNotExist)
}

// flite and the voices of piper speak some of the training clips.
func TestOtherSynthesizers(t *testing.T) {
	calls := fakeEspeak(t, 0.4)
	dir := strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0]
	must.Do(t, os.WriteFile(filepath.Join(dir, "flite"), must.Get(os.ReadFile(filepath.Join(dir, program)))(t), 0o777))
	o := Options{Out: t.TempDir(), Split: Train, Piper: dir}
	must.Fail(t, Words(t.Context(), o, []string{"smart mirror"}, 20), dir, "no voices")
	must.Do(t, os.WriteFile(filepath.Join(dir, "en-lessac.onnx"), nil, 0o666))
	must.Do(t, os.WriteFile(filepath.Join(dir, "piper"), must.Get(os.ReadFile(filepath.Join(dir, program)))(t), 0o777))
	must.Do(t, Words(t.Context(), o, []string{"smart mirror"}, 60))
	flite, piper := 0, 0
	for _, call := range calls() {
		if strings.Contains(call, "-t smart mirror") && strings.Contains(call, "duration_stretch=") {
			flite++
		}
		if strings.HasPrefix(call, "smart mirror") && strings.Contains(call, "|-m "+filepath.Join(dir, "en-lessac.onnx")+" -f - --length_scale ") {
			piper++
		}
	}
	named := must.Get(filepath.Glob(filepath.Join(o.Out, "*", "piper+en-lessac_nohash_*.wav")))(t)
	if flite < 6 || flite > 36 || piper < 1 || piper > 20 || len(named) != piper {
		t.Errorf("%d of 60 clips by flite and %d by piper, of which the names %v tell the voice", flite, piper, named)
	}
}

// Without espeak-ng the error says how to install it. The first error of a file names the call.
func TestNoEspeak(t *testing.T) {
	o := Options{Out: t.TempDir(), Split: Test}
	fakeEspeak(t, 0)
	must.Fail(t, Words(t.Context(), o, []string{"yes"}, 1), `text "yes`, "no sound")
	broken := filepath.Join(strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0], program)
	must.Do(t, os.WriteFile(broken, []byte("#!/bin/sh\necho no data found >&2\nexit 3\n"), 0o777))
	must.Fail(t, Words(t.Context(), o, []string{"yes"}, 1), "-v en-", "exit status 3: no data found")
	t.Setenv("PATH", t.TempDir())
	must.Fail(t, Words(t.Context(), o, []string{"yes"}, 1), "apt install espeak-ng", exec.ErrNotFound)
}

// If espeak-ng is installed, its output for a word is the same every time.
func TestRealEspeak(t *testing.T) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	o := Options{Split: Test}
	for file := range 10 {
		v := o.voice(o.draws("seven", file), 90, 240)
		x := must.Get(v.speak(t.Context(), "seven"))(t)
		if s := float64(len(x)) / rate; s < 0.15 || s > 1.5 {
			t.Errorf("%+v: %.2f s, expected 0.15 to 1.5", v, s)
		}
		if !slices.Equal(x, must.Get(v.speak(t.Context(), "seven"))(t)) {
			t.Errorf("%+v speaks differently the second time", v)
		}
	}
}

// The installed voices of flite and festival speak a word, slowly and fast.
func TestRealSynthesizers(t *testing.T) {
	list := must.Get(Options{Split: Train}.others())(t)
	if len(list) == 0 {
		t.Skip("neither flite nor festival is installed")
	}
	for _, other := range list {
		var seconds [2]float64
		for i, speed := range []int{110, 220} {
			x := must.Get(voice{other: other, pitch: 50, speed: speed}.speak(t.Context(), "seven"))(t)
			seconds[i] = float64(len(x)) / rate
		}
		if seconds[1] < 0.15 || seconds[0] > 2 || seconds[0] < 1.2*seconds[1] {
			t.Errorf("%s, voice %s: %.2f s, %.2f s at twice the speed", other.program, other.voice, seconds[0], seconds[1])
		}
	}
}

// Sentences are divided at their ends and at tags. Those with excluded words, numbers or unusual
// characters are left out.
func TestSplitText(t *testing.T) {
	without := map[string]bool{"one": true, "know": true, "stop": true, "up": true, "for": true, "film": true}
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

// Every kind of noise is audible in each tenth of a file and does not clip. Files are the same
// every time.
func TestNoises(t *testing.T) {
	o := Options{Split: Test, Out: t.TempDir()}
	for split, list := range kinds {
		for i, k := range list {
			x := k.file(o.draws("noises", i))
			must.Equal(t, len(x), rate*noiseSeconds, "%s: samples", k.name)
			for part := range slices.Chunk(x, len(x)/10) {
				var peak float32
				for _, v := range part {
					peak = max(peak, v, -v)
				}
				if !(peak > 1e-4 && peak <= 0.9) {
					t.Errorf("%s, %s: peak %v, expected 0.0001 to 0.9", split, k.name, peak)
				}
			}
		}
	}
	must.Do(t, Noises(t.Context(), o, 1.5))
	files := tree(t, o.Out)
	must.Equal(t, strings.Join(slices.Sorted(maps.Keys(files)), " "), "band/0.wav crackle/2.wav sweep/1.wav", "files")
	o.Out = t.TempDir()
	must.Do(t, Noises(t.Context(), o, 0.5))
	must.Equal(t, tree(t, o.Out)["band/0.wav"] == files["band/0.wav"], true, "the same file again")
}
