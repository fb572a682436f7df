package recordings

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// copyFixture copies a file of audio/testdata to root/name.
func copyFixture(t *testing.T, fixture, root, name string) {
	t.Helper()
	testfiles.Write(t, filepath.Join(root, name), must.Get(os.ReadFile(filepath.Join("..", "..", "audio", "testdata", fixture)))(t))
}

// clipNames lists clips as CLASS/FILE.
func clipNames(root string, clips []Clip) (list []string) {
	for _, c := range clips {
		name, _ := filepath.Rel(root, c.Path)
		list = append(list, filepath.ToSlash(name))
	}
	return list
}

// A note tells that folders whose names are those of splits are classes.
func TestFoldersOfSplits(t *testing.T) {
	root := t.TempDir()
	for i := range 8 {
		testfiles.Ramp(t, filepath.Join(root, []string{"train", "test"}[i%2], fmt.Sprint(i, ".wav")), 16000, 50, 1)
	}
	got := must.Get(Folder(t.Context(), root, Options{}))(t)
	must.Equal(t, strings.Contains(strings.Join(got.Notes, "\n"), `the folders ["test" "train"] are read as classes, though their names are those of splits`), true, "notes %q", got.Notes)
}

// Files of every format, rate and number of channels become clips of one channel at one rate, with
// the samples that package audio gives.
func TestFolderFormats(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"mono.flac", "stereo.flac", "mono.mp3", "joint.mp3", "tag.mp3", "mono.ogg", "stereo.ogg"} {
		copyFixture(t, f, root, "word/"+f)
	}
	copyFixture(t, "mono.ogg", root, "word/no extension")
	testfiles.Ramp(t, filepath.Join(root, "word/same rate.wav"), 16000, 100, 1)
	testfiles.Ramp(t, filepath.Join(root, "validation/val.wav"), 8000, 100, 1)
	testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "validation/val.wav\n")
	got := must.Get(Folder(t.Context(), root, Options{}))(t)
	if want := []string{"validation", "word"}; !slices.Equal(got.Train.Labels, want) || !slices.Equal(got.Val.Labels, want) {
		t.Errorf("labels %q and %q, expected %q", got.Train.Labels, got.Val.Labels, want)
	}
	must.Equal(t, got.Train.SampleRate, 16000, "sampling rate")
	must.Equal(t, len(got.Train.Words), 9, "training clips")
	must.Equal(t, len(got.Broken)+len(got.Ignored), 0, "broken and ignored files")
	for _, c := range slices.Concat(got.Train.Words, got.Val.Words) {
		want := NewClip("", 0, must.Get(audio.ReadMono(c.Path, 16000))(t))
		if !slices.Equal(c.Int16, want.Int16) {
			t.Errorf("%s: %d samples, expected the %d of package audio", c.Path, c.Len(), want.Len())
		}
		must.Equal(t, c.Label, slices.Index(got.Train.Labels, filepath.Base(filepath.Dir(c.Path))), "label of %s", c.Path)
	}
	all, broken, err := Clips(t.Context(), []string{root}, Options{})
	if err != nil || len(broken) > 0 || len(all) != 10 {
		t.Errorf("Clips: %d clips, broken %v, error %v; expected 10", len(all), broken, err)
	}
	for i, c := range all[1:] {
		if !slices.Equal(c.Int16, got.Train.Words[i].Int16) {
			t.Errorf("Clips: clip %d differs from that of Folder", i+1)
		}
	}
}

// Folders with an underscore are background or other words; files that are no recordings are
// reported.
func TestFolderRoles(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		testfiles.Ramp(t, filepath.Join(root, fmt.Sprintf("yes/%d.wav", i)), 16000, 50, 1)
	}
	testfiles.Ramp(t, filepath.Join(root, "_unknown_/bed.wav"), 16000, 50, 1)
	testfiles.Ramp(t, filepath.Join(root, "_silence_/a.wav"), 16000, 50, 0)
	testfiles.Ramp(t, filepath.Join(root, "_background_noise_/deep/er/b.wav"), 16000, 50, 1)
	testfiles.Ramp(t, filepath.Join(root, "top.wav"), 16000, 50, 1)
	testfiles.Ramp(t, filepath.Join(root, "yes/deep/er.wav"), 16000, 50, 1)
	testfiles.Ramp(t, filepath.Join(root, "yes/.hidden.wav"), 16000, 50, 1)
	testfiles.Ramp(t, filepath.Join(root, ".git/x.wav"), 16000, 50, 1)
	testfiles.Write(t, filepath.Join(root, "LICENSE"), "text")
	testfiles.Write(t, filepath.Join(root, "yes", "notes.txt"), "text")
	got := must.Get(Folder(t.Context(), root, Options{Validation: 0.3}))(t)
	other, back := slices.Concat(got.Train.Other, got.Val.Other), slices.Concat(got.Train.Background, got.Val.Background)
	must.Equal(t, len(got.Train.Words)+len(got.Val.Words), 10, "words")
	if list := clipNames(root, other); !slices.Equal(list, []string{"_unknown_/bed.wav"}) {
		t.Errorf("other words %q", list)
	}
	list := clipNames(root, back)
	slices.Sort(list)
	if want := []string{"_background_noise_/deep/er/b.wav", "_silence_/a.wav"}; !slices.Equal(list, want) {
		t.Errorf("background %q, expected %q", list, want)
	}
	slices.Sort(got.Ignored)
	want := []string{
		filepath.Join(root, ".git") + ": hidden",
		filepath.Join(root, "LICENSE") + ": not in the folder of a class",
		filepath.Join(root, "top.wav") + ": not in the folder of a class",
		filepath.Join(root, "yes", ".hidden.wav") + ": hidden",
		filepath.Join(root, "yes", "deep") + ": a folder in the folder of a class",
		filepath.Join(root, "yes", "notes.txt") + ": not in a known format of sound",
	}
	slices.Sort(want)
	if !slices.Equal(got.Ignored, want) {
		t.Errorf("ignored %q, expected %q", got.Ignored, want)
	}

	testfiles.Ramp(t, filepath.Join(root, "no/bed.wav"), 16000, 50, 1)
	got = must.Get(Folder(t.Context(), root, Options{Validation: 0.3, Wake: "yes"}))(t)
	must.Equal(t, strings.Join(got.Train.Labels, ","), "yes", "labels with one word")
	list = clipNames(root, slices.Concat(got.Train.Other, got.Val.Other))
	if slices.Sort(list); !slices.Equal(list, []string{"_unknown_/bed.wav", "no/bed.wav"}) {
		t.Errorf("other words %q with one word", list)
	}
	must.Reject(Folder(t.Context(), root, Options{Wake: "yea"}))(t, `no folder "yea" of the word to detect; did you mean "yes"?`)
}

// With a split, only its recordings are read. The clips of the others have no samples.
func TestFolderOneSplit(t *testing.T) {
	root := t.TempDir()
	for i := range 6 {
		for _, class := range []string{"yes", "_unknown_", "_noise_"} {
			testfiles.Ramp(t, filepath.Join(root, class, fmt.Sprintf("%d.wav", i)), 16000, 10+i, 1)
		}
	}
	testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "yes/1.wav\n_unknown_/1.wav\n_noise_/1.wav\nyes/2.wav\n")
	testfiles.Write(t, filepath.Join(root, "testing_list.txt"), "yes/0.wav\n_noise_/0.wav\n")
	whole := must.Get(Folder(t.Context(), root, Options{}))(t)
	parts := func(r *Splits) [3]Sounds { return [3]Sounds{r.Train, r.Val, r.Test} }
	testfiles.Write(t, filepath.Join(root, "yes", "5.wav"), "broken") // for training
	for k, name := range []string{"train", "val", "test"} {
		read := 0
		got, err := Folder(t.Context(), root, Options{Split: name, SkipBroken: name == "train", Progress: func(done, total int) { read = total }})
		must.Do(t, err)
		files := 0
		for i, want := range parts(whole) {
			for j, clips := range [3][]Clip{want.Words, want.Other, want.Background} {
				s := parts(got)[i]
				list := [3][]Clip{s.Words, s.Other, s.Background}[j]
				if i == k {
					files += len(clips)
				}
				if i == k && i == 0 && j == 0 {
					clips = clips[:len(clips)-1] // 5.wav, which is broken
				}
				if strings.Join(clipNames(root, list), " ") != strings.Join(clipNames(root, clips), " ") {
					t.Errorf("split %s: clips %q, expected %q", name, clipNames(root, list), clipNames(root, clips))
					continue
				}
				for n, c := range list {
					if c.Label != clips[n].Label || (i == k) != slices.Equal(c.Int16, clips[n].Int16) || i != k && c.Len() != 0 {
						t.Errorf("split %s: clip %s has %d samples and label %d", name, c.Path, c.Len(), c.Label)
					}
				}
			}
		}
		must.Equal(t, read, files, "recordings read for split %s", name)
	}
}

// Broken recordings are named and counted; with SkipBroken, the others are read.
func TestFolderBroken(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		testfiles.Ramp(t, filepath.Join(root, fmt.Sprintf("yes/%d.wav", i)), 16000, 50, 1)
	}
	at := func(name string) string { return filepath.Join(root, "yes", name) }
	copyFixture(t, "mono.ogg", root, "yes/cut.ogg")
	must.Do(t, os.Truncate(at("cut.ogg"), 3000))
	testfiles.Write(t, at("text.mp3"), "not audio")
	testfiles.Write(t, at("empty.flac"), "")
	testfiles.Ramp(t, filepath.Join(root, "yes/none.wav"), 16000, 0, 0)
	testfiles.Ramp(t, filepath.Join(root, "yes/long.wav"), 100, 6100, 1)
	must.Do(t, audio.WriteWAVFile(at("silent.wav"), 16000, make([]float32, 100)))
	must.Do(t, os.Symlink(at("gone"), at("link.wav")))
	writeFloats(t, at("loud.wav"), 0.5, 20000, -3)
	wants := map[string]string{
		"cut.ogg": "truncated Ogg", "text.mp3": "unknown format", "empty.flac": "no bytes", "none.wav": "no samples", "long.wav": "longer than 60 seconds",
		"silent.wav": "all samples are zero", "link.wav": "no such file", "loud.wav": "sample 1 at 16000 Hz is 20000",
	}
	_, err := Folder(t.Context(), root, Options{})
	var broken *BrokenError
	if !errors.As(err, &broken) || len(broken.Broken) != len(wants) || broken.Files != 20+len(wants) {
		t.Fatalf("error %v, expected a BrokenError of %d files", err, len(wants))
	}
	must.Fail(t, err, audio.ErrTruncated, os.ErrNotExist, "8 of 28 recordings are broken")
	got := must.Get(Folder(t.Context(), root, Options{SkipBroken: true}))(t)
	must.Equal(t, len(got.Train.Words)+len(got.Val.Words), 20, "recordings that are not broken")
	must.Equal(t, len(got.Broken), len(wants), "broken recordings")
	for name, want := range wants {
		if !slices.ContainsFunc(got.Broken, func(err error) bool {
			return strings.Contains(err.Error(), at(name)) && strings.Contains(err.Error(), want)
		}) {
			t.Errorf("%s: the broken recordings %v do not contain %q", name, got.Broken, want)
		}
		must.Fail(t, err, at(name))
	}
	all, list, err := Clips(t.Context(), []string{root}, Options{SkipBroken: true})
	if err != nil || len(all) != 22 || len(list) != 6 { // silent and long recordings are usable there
		t.Errorf("Clips: %d clips, %d broken, error %v; expected 22 and 6", len(all), len(list), err)
	}
	for i := range 30 {
		testfiles.Write(t, at(fmt.Sprintf("more%d.mp3", i)), "not audio")
	}
	must.Reject(Folder(t.Context(), root, Options{}))(t, "38 of 58 recordings", "and 28 more")
}

// writeFloats writes a WAV file of 32-bit floats at 16 kHz.
func writeFloats(t *testing.T, path string, x ...float32) {
	t.Helper()
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x03\x00\x01\x00\x80\x3e\x00\x00\x00\xfa\x00\x00\x04\x00\x20\x00data")
	b = append(b, byte(4*len(x)), 0, 0, 0)
	for _, v := range x {
		bits := math.Float32bits(v)
		b = append(b, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	must.Do(t, os.WriteFile(path, b, 0o644))
}

// goodFolder returns a folder with ten recordings of a class.
func goodFolder(t *testing.T) string {
	root := t.TempDir()
	for i := range 10 {
		testfiles.Ramp(t, filepath.Join(root, fmt.Sprintf("yes/s%d.wav", i)), 16000, 50, 1)
	}
	return root
}

func TestFolderRejects(t *testing.T) {
	for _, c := range map[string]struct {
		change func(root string, opt *Options)
		want   []any
	}{
		"missing folder": {func(root string, o *Options) { os.RemoveAll(root) }, []any{os.ErrNotExist}},
		"no classes":     {func(root string, o *Options) { os.Rename(filepath.Join(root, "yes"), filepath.Join(root, "_yes")) }, []any{"no folder of a class"}},
		"empty class":    {func(root string, o *Options) { os.Mkdir(filepath.Join(root, "a"), 0o755) }, []any{"the folder", "of a class contains no recordings"}},
		"reserved name":  {func(root string, o *Options) { os.Rename(filepath.Join(root, "yes"), filepath.Join(root, "none")) }, []any{`class "none" (folder `, "put other sounds into a folder such as _other or _noise"}},
		"class of text": {func(root string, o *Options) {
			os.Mkdir(filepath.Join(root, "a"), 0o755)
			testfiles.Write(t, filepath.Join(root, "a", "b.txt"), "x")
		}, []any{"of a class contains no recordings"}},
		"broken class": {func(root string, o *Options) {
			o.SkipBroken = true
			os.Mkdir(filepath.Join(root, "a"), 0o755)
			testfiles.Write(t, filepath.Join(root, "a", "b.wav"), "x")
		}, []any{"contains no recording that can be read"}},
		"no validation": {func(root string, o *Options) {
			for i := range 9 {
				os.Remove(filepath.Join(root, "yes", fmt.Sprintf("s%d.wav", i)))
			}
			o.Validation = 1e-9
		}, []any{"1 recordings for training and 0 for validation"}},
		"regular expression": {func(root string, o *Options) { o.GroupBy = "(" }, []any{"group_by: error parsing"}},
		"no match":           {func(root string, o *Options) { o.GroupBy = "^[a-f]" }, []any{`group_by "^[a-f]" matches no part of the name of`, "s0.wav"}},
		"one speaker":        {func(root string, o *Options) { o.GroupBy = "^s" }, []any{"expected at least 2 speakers in the names of the files, found 1"}},
		"validation":         {func(root string, o *Options) { o.Validation = 1 }, []any{"validation 1"}},
		"split":              {func(root string, o *Options) { o.Split = "dev" }, []any{`unknown split "dev"`}},
		"memory":             {func(root string, o *Options) { o.MaxBytes = 500 }, []any{"take more than", "the limit, as 16-bit samples at 16000 Hz; use less background"}},
		"ratio of rates":     {func(root string, o *Options) { o.SampleRate = 999983 }, []any{"999983/16000"}},
		"list: missing clip": {func(root string, o *Options) {
			testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "yes/x.wav\n")
		}, []any{"lists yes/x.wav, which is missing"}},
		"list: twice": {func(root string, o *Options) {
			testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "yes/s1.wav\nyes/s1.wav\n")
		}, []any{"lists yes/s1.wav, which has been listed already"}},
		"list: in both": {func(root string, o *Options) {
			for _, l := range splitLists {
				testfiles.Write(t, filepath.Join(root, l), "yes/s1.wav\n")
			}
		}, []any{"testing_list.txt", "listed already"}},
		"list: line": {func(root string, o *Options) {
			testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "s1.wav\n")
		}, []any{`line 1: "s1.wav"`}},
	} {
		root, opt := goodFolder(t), Options{}
		c.change(root, &opt)
		must.Reject(Folder(t.Context(), root, opt))(t, append(c.want, "recordings: ")...)
	}
}

// With labels, a class needs no folder, and training no words. Reading ends with its context.
func TestFolderLabels(t *testing.T) {
	root, labels := goodFolder(t), Options{Labels: []string{"no", "yes"}}
	testfiles.Write(t, filepath.Join(root, "testing_list.txt"), "no/x.wav\n")
	r := must.Get(Folder(t.Context(), root, labels))(t)
	must.Equal(t, [2]int{len(r.Train.Labels), r.Train.Words[0].Label}, [2]int{2, 1}, "labels, and that of the words")
	labels.Labels = []string{"no", "maybe"}
	must.Reject(Folder(t.Context(), root, labels))(t, `class "yes" (folder `, `expected one of ["no" "maybe"]`)
	_, _, err := Clips(t.Context(), []string{t.TempDir()}, Options{})
	must.Fail(t, err, "recordings: ", "contains no recordings")
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = Folder(ctx, goodFolder(t), Options{Workers: 1, Progress: func(done, total int) {
		if calls++; done != calls || total != 10 {
			t.Errorf("progress %d of %d in call %d", done, total, calls)
		}
		cancel()
	}})
	must.Fail(t, err, context.Canceled)
	must.Equal(t, calls, 1, "recordings read after the context was cancelled")
}

// Channels that cancel or differ are noted with the file. One channel may be selected.
func TestFolderChannels(t *testing.T) {
	root, x, opposed := t.TempDir(), testfiles.Sounds(1, 16000, 1), testfiles.Sounds(1, 16000, 1)
	for i := range opposed {
		opposed[i] *= -0.99
	}
	for _, name := range []string{"word/a.wav", "word/b.wav", "other/c.wav", "other/e.wav"} {
		testfiles.Stereo(t, filepath.Join(root, name), 16000, x, x)
	}
	path := filepath.Join(root, "other/d.wav")
	testfiles.Stereo(t, path, 16000, x, opposed)
	var notes []string
	opt := Options{SkipBroken: true, Audio: audio.Options{Note: func(text string) { notes = append(notes, text) }}}
	must.Get(Folder(t.Context(), root, opt))(t)
	if len(notes) != 1 || !strings.HasPrefix(notes[0], path+": its 2 channels cancel") {
		t.Errorf("notes %q", notes)
	}
	for channel, want := range [][]float32{x, opposed} {
		opt.Audio.Channel, notes = &channel, nil
		clips, _, err := Clips(t.Context(), []string{filepath.Join(root, "other")}, opt)
		must.Do(t, err)
		must.Equal(t, len(clips)+len(notes), 3, "clips and notes")
		at := slices.IndexFunc(want, func(v float32) bool { return v > 0.01 || v < -0.01 })
		must.Equal(t, clips[1].Int16[at] > 0, want[at] > 0, "channel %d: sign of sample %d", channel, at)
	}
	third := 2
	opt.Audio.Channel, opt.SkipBroken = &third, false
	must.Reject(Folder(t.Context(), root, opt))(t, "audio: no channel 2: the recording has 2, expected 0 to 1")
}
