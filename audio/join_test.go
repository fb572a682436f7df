package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// tags are what may stand between files that are joined.
var tags = []struct{ name, bytes string }{
	{"", ""},
	{"ID3v2", "ID3\x04\x00\x00\x00\x00\x01\x02" + strings.Repeat("\xff\xfb\x50\xc4", 32) + "\x00\x00"},
	{"ID3v1", "TAG" + strings.Repeat("\xff\xfb\x50\xc4\x00", 25)},
	{"APE", "APETAGEX\xd0\x07\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa0" + strings.Repeat("\x00", 8+32)},
}

// Files that are joined are read as one, with the samples of each, whatever tags are between them
// and whatever the size of the reads.
func TestJoinedFiles(t *testing.T) {
	var wav bytes.Buffer
	must.Do(t, WriteWAV(&wav, 16000, []float32{0.5, -0.5, 0.25}))
	files := map[string][]byte{
		"a.wav":        wav.Bytes(),
		"list.wav":     append(bytes.Clone(wav.Bytes()), chunk("LIST", make([]byte, 7))...),
		"no size.wav":  slices.Concat(wav.Bytes()[:40], []byte{0xff, 0xff, 0xff, 0xff}, wav.Bytes()[44:]),
		"no size.flac": must.Get(os.ReadFile("testdata/mono.flac"))(t),
	}
	clear(files["no size.flac"][22:26])
	files["no size.flac"][21] &= 0xf0
	for _, f := range fixtures {
		files[f.name] = must.Get(os.ReadFile(filepath.Join("testdata", f.name)))(t)
	}
	for name, file := range files {
		_, want, err := decodeAll(t, bytes.NewReader(file), 1000)
		must.Do(t, err)
		for _, tag := range tags {
			if tag.name != "" && strings.HasSuffix(name, ".ogg") || tag.name != "" && name == "no size.wav" {
				continue
			}
			both := slices.Concat(file, []byte(tag.bytes), file, []byte(tag.bytes), file)
			for _, n := range []int{1000, 1 << 20} {
				_, got, err := decodeAll(t, bytes.NewReader(both), n)
				// These files have no LAME tag, so nothing is cut at the joints, and the first
				// samples of a joined file overlap with the last frame of the one before.
				if name == "mono.mp3" || name == "joint.mp3" {
					if want := 3 * len(want); err != nil || len(got) != want {
						t.Errorf("%s, %s: %d samples, error %v, expected %d", name, tag.name, len(got), err, want)
					}
					continue
				}
				if err != nil || !slices.Equal(got, slices.Repeat(want, 3)) {
					t.Errorf("%s, %s between: %d samples, error %v, expected three times %d", name, tag.name, len(got), err, len(want))
				}
			}
		}
	}
	for name, c := range map[string][2]string{
		"another rate":    {string(files["mono.flac"]) + wav.String(), "of 1 channels at 16000 Hz; the first has 1 channels at 24000 Hz"},
		"another MP3":     {string(files["mono.mp3"]) + string(files["joint.mp3"]), "of 2 channels at 22050 Hz"},
		"a broken header": {wav.String() + "fLaC\x01\x00\x00\x22", "joined to the first: audio: the first metadata block"},
	} {
		_, got, err := decodeAll(t, strings.NewReader(c[0]), 100)
		must.Fail(t, err, c[1])
		if len(got) == 0 {
			t.Errorf("%s: no samples before the error", name)
		}
	}
}

// MP3 begins at the first frame that others follow: after tags, padding, the rest of a frame, and
// bytes that look like a header.
func TestJunkBeforeMP3(t *testing.T) {
	file := must.Get(os.ReadFile("testdata/tag.mp3"))(t)
	_, want, err := decodeAll(t, bytes.NewReader(file), 1000)
	must.Do(t, err)
	for name, junk := range map[string]string{
		"zeros": strings.Repeat("\x00", 3000), "many zeros": strings.Repeat("\x00", 60000), "APE": tags[3].bytes,
		"ID3 and zeros": tags[1].bytes + strings.Repeat("\x00", 700), "text": "no format ", "false header": "x\xff\xfb\x50\xc4abc",
		"a false first header": "\xff\xfb\x50\xc4abc",
	} {
		var notes []string
		r := must.Get(Options{Note: func(s string) { notes = append(notes, s) }}.Open(strings.NewReader(junk + string(file))))(t)
		got, err := all(r, 1000)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d samples, error %v, expected %d", name, len(got), err, len(want))
		}
		must.Equal(t, len(notes) > 0, junk[0] > 0 && !strings.HasPrefix(name, "ID3") && name != "APE", "%s: noted", name)
	}
	second := 0 // the file from its second frame on is cut in that one
	for i := 1; second == 0; i++ {
		if isMP3(file[i:]) && confirmed(bufReader(file[i:]), file[i:i+4], true) {
			second = i
		}
	}
	_, got, err := decodeAll(t, bytes.NewReader(file[second-100:]), 1000)
	if err != nil || len(got) < len(want) {
		t.Errorf("a cut first frame: %d samples, error %v", len(got), err)
	}
	must.Reject(Open(strings.NewReader(strings.Repeat("\x00", 70000)+string(file))))(t, "unknown format")
	must.Reject(Open(strings.NewReader("a text\xff\xfb\x50\xc4 without frames")))(t, `starts with "a te"`)
}

// Where the header leaves the amount of data open, chunks at the end of the file are not samples,
// and a chunk's name within the samples is no end. A chunk of odd size may lack its pad byte.
func TestChunksAroundWAV(t *testing.T) {
	fmt16, samples := chunk("fmt ", format(1, 1, 8000, 16)), make([]byte, 40000)
	list := chunk("LIST", []byte("INFOISFT\x05\x00\x00\x00abcde"))
	open := func(chunks ...[]byte) []byte {
		file := riff(append([][]byte{fmt16, chunk("data", samples)}, chunks...)...)
		binary.LittleEndian.PutUint32(file[40:], 0)
		return file
	}
	within := bytes.Clone(samples)
	copy(within[16380:], "LIST\x08\x00\x00\x00")
	copy(within[20000:], "LIST\xff\x7f\x00\x00")
	for name, c := range map[string]struct {
		file []byte
		n    int
	}{
		"LIST":           {open(list), 20000},
		"LIST and id3":   {open(list, chunk("id3 ", make([]byte, 300))), 20000},
		"only a LIST":    {slices.Concat(open()[:44], list), 0},
		"other chunks":   {open(chunk("minf", make([]byte, 16)), chunk("x_9z", make([]byte, 301)), chunk("last", nil)), 20000},
		"two data":       {riff(fmt16, chunk("data", samples[:1001]), list, chunk("data", samples)), 20500},
		"odd and joined": {slices.Concat(riff(fmt16, chunk("data", samples[:1001])), riff(fmt16, chunk("data", samples))), 20500},
		"names":          {riff(fmt16, chunk("data", within)), 20000},
		"no pad byte":    {riff(fmt16, list[:len(list)-1], chunk("data", samples)), 20000},
		"no pad, size f": {riff(fmt16, list[:len(list)-1], chunk("data", make([]byte, 'f'))), 'f' / 2},
	} {
		_, got, err := decodeAll(t, bytes.NewReader(c.file), 777)
		if err != nil || len(got) != c.n {
			t.Errorf("%s: %d samples, error %v, expected %d", name, len(got), err, c.n)
		}
	}
}

// What follows the end that a header states is another file, padding, or named by a note.
func TestBytesAfterTheEnd(t *testing.T) {
	wav := riff(chunk("fmt ", format(1, 1, 8000, 16)), chunk("data", make([]byte, 1000)))
	for after, want := range map[string]string{
		"": "", "\x00\x00\x00\x00\x00\x00\x00\x00": "", "TAG" + strings.Repeat("x", 125): "",
		"\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00": "after sample 500, where it ends by its header, other bytes follow, which are not read",
		"#!AMR\n\x04\x05\x06\x07\x08\x09\x0a":      "in the file that is joined to the first: audio: AMR is read only through ffmpeg",
	} {
		note := ""
		r := must.Get(Options{Note: func(text string) { note += text }}.Open(strings.NewReader(string(wav) + after)))(t)
		got, err := all(r, 300)
		if err != nil {
			note += err.Error()
		}
		must.Equal(t, len(got) == 500 && strings.Contains(note, want) && (note == "") == (want == ""), true, "%d samples with %q: %q", len(got), after, note)
	}
}

// A data chunk that is too large in a file of the size that its first header states is read to its
// end, with a note. Any other is truncated, after its samples.
func TestWrongDataSizeInWholeFile(t *testing.T) {
	for _, excess := range []uint32{2, 8, 36, 44, 1 << 20} {
		file := riff(chunk("fmt ", format(1, 1, 8000, 16)), chunk("data", make([]byte, 1000)))
		binary.LittleEndian.PutUint32(file[40:], 1000+excess)
		notes := 0
		r := must.Get(Options{Note: func(string) { notes++ }}.Open(bytes.NewReader(file)))(t)
		got, err := all(r, 300)
		if err != nil || len(got) != 500 || notes != 1 {
			t.Errorf("%d bytes too many: %d samples, error %v, %d notes", excess, len(got), err, notes)
		}
		binary.LittleEndian.PutUint32(file[4:], uint32(len(file))-8+excess)
		_, got, err = decodeAll(t, bytes.NewReader(file), 300)
		if !errors.Is(err, ErrTruncated) || len(got) != 500 {
			t.Errorf("both sizes %d bytes too large: %d samples, error %v", excess, len(got), err)
		}
	}
}

// Channels that differ or cancel are noted once, at the end; one channel may be selected.
func TestChannels(t *testing.T) {
	tone, noise := make([]int16, 4000), make([]int16, 4000)
	for i := range tone {
		tone[i], noise[i] = int16(i%40*400-8000), int16(i*i*7919)
	}
	file := func(channels ...[]int16) []byte {
		var data []byte
		for i := range tone {
			for _, c := range channels {
				data = binary.LittleEndian.AppendUint16(data, uint16(c[i]))
			}
		}
		return riff(chunk("fmt ", format(1, len(channels), 8000, 16)), chunk("data", data))
	}
	opposed, louder, silent := make([]int16, 4000), make([]int16, 4000), make([]int16, 4000)
	for i, v := range tone {
		opposed[i], louder[i] = -v, v*2+noise[i]/16
	}
	for name, c := range map[string]struct {
		file []byte
		note string
	}{
		"equal": {file(tone, tone), ""}, "similar": {file(tone, louder), ""}, "one": {file(tone), ""}, "silent": {file(silent, silent), ""},
		"opposed": {file(tone, opposed), "its 2 channels cancel"}, "nearly": {file(louder, opposed), "its 2 channels cancel"},
		"other": {file(tone, noise), "its 2 channels differ"}, "one silent": {file(silent, tone), "its 2 channels differ"},
		"five alike": {file(tone, tone, tone, tone, noise), "its 5 channels differ (correlation of 0 and 4"},
		"six":        {file(tone, noise, silent, silent, silent, silent), "its 6 channels differ"},
	} {
		var notes []string
		r := must.Get(Options{Note: func(s string) { notes = append(notes, s) }}.Open(bytes.NewReader(c.file)))(t)
		src := must.Get(r.MonoAt(16000))(t)
		got := must.Get(all(src, 1000))(t)
		must.Equal(t, len(got), 8000, "%s: samples", name)
		if strings.Join(notes, "") != "" != (c.note != "") || c.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.note) || !strings.Contains(notes[0], "--channel N")) {
			t.Errorf("%s: notes %q, expected %q", name, notes, c.note)
		}
	}
	for i, want := range [][]int16{tone, noise} {
		r := must.Get(Options{Channel: &i, Note: func(s string) { t.Error(s) }}.Open(bytes.NewReader(file(tone, noise))))(t)
		for at, v := range must.Get(all(Mono(r), 1000))(t) {
			must.Equal(t, v, float32(want[at])/(1<<15), "channel %d, sample %d", i, at)
		}
	}
	for _, i := range []int{-2, 2} {
		must.Reject(Options{Channel: &i}.Open(bytes.NewReader(file(tone, noise))))(t, ErrChannel, "the recording has 2, expected 0 to 1")
	}
	if _, err := (Options{Channel: new(int)}).Open(io.MultiReader(bytes.NewReader(file(tone)))); err != nil {
		t.Errorf("channel 0 of one: %v", err)
	}
}

// A part of a recording in which the channels cancel is named by a note.
func TestChannelsCancelInPart(t *testing.T) {
	tone, opposed := make([]int16, 4000), make([]int16, 4000)
	for i := range tone {
		tone[i] = int16(i%40*400 - 8000)
		opposed[i] = -tone[i]
	}
	var whole [][]int16
	for _, second := range [][]int16{tone, opposed} {
		a, b := []int16(nil), []int16(nil)
		for k := range 80 { // 40 s, of which the last or the third ten may be opposed
			a = append(a, tone...)
			if b = append(b, tone...); k >= 60 {
				copy(b[len(b)-len(tone):], second)
			}
		}
		whole = append(whole, a, b)
	}
	for k, want := range []string{"", "its 2 channels cancel after about 30 s: their mean, which is read, has 0 %"} {
		var data []byte
		for i, v := range whole[2*k] {
			data = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(data, uint16(v)), uint16(whole[2*k+1][i]))
		}
		note := ""
		r := must.Get(Options{Note: func(s string) { note += s }}.Open(bytes.NewReader(riff(chunk("fmt ", format(1, 2, 8000, 16)), chunk("data", data)))))(t)
		must.Get(all(Mono(r), 1000))(t)
		must.Equal(t, strings.HasPrefix(note, want) && (note == "") == (want == ""), true, "note %q", note)
	}
}
