package audio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// decodeAll decodes a file in blocks of n frames.
func decodeAll(t testing.TB, in io.Reader, n int) (*Reader, []float32, error) {
	t.Helper()
	r, err := Open(in)
	if err != nil {
		return nil, nil, err
	}
	samples, err := all(r, n*r.Format.Channels)
	return r, samples, err
}

// fixtures are files of testdata, made with
//
//	sox -R -n -r RATE -c CHANNELS -b 16 FILE synth SECONDS pluck 300 synth SECONDS noise mix 0.2 \
//		synth sq amod 30 gain -6
//
// and decoded with sox FILE -t s16 FILE.s16 (FLAC: 32 bits).
var fixtures = []struct {
	name      string
	format    Format
	container Container
	offset    int // frames that sox delivers before the first one
	extra     int // frames that it lacks at the end
}{
	{"mono.flac", Format{24000, 1, 16, false}, FLAC, 0, 0},
	{"stereo.flac", Format{8000, 2, 24, false}, FLAC, 0, 0},
	{"mono.mp3", Format{16000, 1, 0, false}, MP3, 0, 1152},
	{"joint.mp3", Format{22050, 2, 0, false}, MP3, 0, 1152},
	{"tag.mp3", Format{32000, 1, 0, false}, MP3, 1152 + 1105, 1152},
	{"mono.ogg", Format{16000, 1, 0, false}, Ogg, 0, 0},
	{"stereo.ogg", Format{44100, 2, 0, false}, Ogg, 0, 0},
}

// expectSox compares samples with what sox decoded: exactly for FLAC (32 bits), otherwise within
// one least significant bit of 16.
func expectSox(t *testing.T, r *Reader, got []float32, sox []byte, offset, extra int) {
	t.Helper()
	bits, tolerance := 16, 1.0
	if r.Container == FLAC {
		bits, tolerance = 32, 0
	}
	want := make([]float64, 8*len(sox)/bits)
	for i := range want {
		v := int64(0)
		for j := bits/8 - 1; j >= 0; j-- {
			v = v<<8 | int64(sox[i*bits/8+j])
		}
		want[i] = float64(v << (64 - bits) >> (64 - bits))
	}
	want = want[offset*r.Format.Channels:]
	if missing := (len(got) - len(want)) / r.Format.Channels; missing > extra || missing < 0 && offset == 0 {
		t.Errorf("%d samples, sox decodes %d", len(got), len(want))
	}
	full := float64(int64(1) << (bits - 1))
	for i := range min(len(got), len(want)) {
		v := math.Round(min(max(float64(got[i])*full, -full), full-1))
		if diff := math.Abs(v - want[i]); diff > tolerance {
			t.Fatalf("sample %d of %d is %v, sox decodes %v", i, len(got), v, want[i])
		}
	}
}

// The committed files are decoded as sox decodes them, in blocks of any size, from any reader.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			path := filepath.Join("testdata", f.name)
			file := must.Get(os.ReadFile(path))(t)
			r, got, err := decodeAll(t, bytes.NewReader(file), 1000)
			must.Do(t, err)
			must.Equal(t, r.Format, f.format, "format")
			must.Equal(t, r.Container, f.container, "container")
			expectSox(t, r, got, must.Get(os.ReadFile(path+".s16"))(t), f.offset, f.extra)
			for _, n := range []int{1, 77, len(got)} {
				_, again, err := decodeAll(t, iotest.OneByteReader(bytes.NewReader(file)), n)
				must.Do(t, err)
				if !slices.Equal(again, got) {
					t.Errorf("blocks of %d frames give other samples", n)
				}
			}
			tag := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x02"), make([]byte, 130)...)
			_, tagged, err := decodeAll(t, bytes.NewReader(append(append(tag, tag...), file...)), 1000)
			if err != nil || !slices.Equal(tagged, got) {
				t.Errorf("after two ID3 tags: %d samples, error %v, expected %d", len(tagged), err, len(got))
			}
		})
	}
}

// Open reads WAV files. A truncated one is an error.
func TestOpenWAV(t *testing.T) {
	var file bytes.Buffer
	must.Do(t, WriteWAV(&file, 8000, []float32{0.5, -0.5, 0.25}))
	r, got, err := decodeAll(t, bytes.NewReader(file.Bytes()), 2)
	if want := []float32{0.5, -0.5, 0.25}; err != nil || !slices.Equal(got, want) || r.Container != WAV {
		t.Errorf("%v, error %v, container %q; expected %v", got, err, r.Container, want)
	}
	_, got, err = decodeAll(t, bytes.NewReader(file.Bytes()[:file.Len()-1]), 2)
	must.Fail(t, err, ErrTruncated, "truncated WAV", "declares 6 bytes")
	must.Equal(t, len(got), 2, "samples before the end")
	if n, err := r.Read(make([]float32, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v, expected 0 and EOF", n, err)
	}
}

// For a file that is cut anywhere, Read returns samples that equal those of the whole file, and
// then an error that wraps ErrTruncated. MP3 without a tag may end between two frames.
func TestTruncated(t *testing.T) {
	for _, f := range fixtures {
		file := must.Get(os.ReadFile(filepath.Join("testdata", f.name)))(t)
		_, whole, err := decodeAll(t, bytes.NewReader(file), 1000)
		must.Do(t, err)
		complete, cuts := 0, 0
		for n := 0; n < len(file); n += 1 + len(file)/151 {
			cuts++
			_, got, err := decodeAll(t, bytes.NewReader(file[:n]), 1000)
			if err == nil {
				complete++
			} else if !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: cut after %d of %d bytes: error %v, expected ErrTruncated", f.name, n, len(file), err)
			}
			if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
				t.Errorf("%s: cut after %d of %d bytes: %d samples that are not the first of the whole file", f.name, n, len(file), len(got))
			}
		}
		if allowed := map[bool]int{true: cuts / 20}[f.container == MP3 && f.offset == 0]; complete > allowed {
			t.Errorf("%s: %d of %d cuts are no error", f.name, complete, cuts)
		}
	}
}

func TestOpenRejects(t *testing.T) {
	flac := must.Get(os.ReadFile("testdata/mono.flac"))(t)
	ogg := must.Get(os.ReadFile("testdata/mono.ogg"))(t)
	change := func(file []byte, at int, b ...byte) string {
		changed := bytes.Clone(file)
		copy(changed[at:], b)
		return string(changed)
	}
	for _, c := range []struct {
		name, file string
		want       []any
	}{
		{"empty", "", []any{ErrTruncated, "no bytes"}},
		{"text", "These are words.", []any{`starts with "Thes"`, "expected RIFF/WAVE, FLAC, MP3, Ogg Vorbis or a known format of ffmpeg"}},
		{"tag alone", "ID3\x04\x00\x00\x00\x00\x01\x02", []any{ErrTruncated, "ID3 tag"}},
		{"MPEG-2.5", "\xff\xe3\x48\xc4" + strings.Repeat("\x00", 400), []any{"MPEG-2.5", "16 kHz"}},
		{"first block of FLAC", change(flac, 4, 1), []any{"STREAMINFO"}},
		{"frame of FLAC", change(flac, len(flac)/2, ^flac[len(flac)/2]), []any{"FLAC: the frame at sample"}},
		{"page of Ogg", change(ogg, len(ogg)/2, ^ogg[len(ogg)/2]), []any{"Ogg: page", "checksum"}},
		{"other codec", string(oggPage(oggFirst, "unknown!")), []any{`"unknown!"`, "expected Vorbis"}},
		{"Opus beside another stream", string(oggPage(oggFirst, "fishead")) + string(oggPage(oggFirst, "OpusHead\x01\x01")), []any{"Skeleton in Ogg is read only through ffmpeg"}},
		{"M4A", "\x00\x00\x00\x1cftypM4A \x00\x00\x02\x00", []any{"MP4 or M4A is read only through ffmpeg", "ffmpeg -i FILE -f wav -"}},
		{"WebM", "\x1a\x45\xdf\xa3\x9f\x42\x86\x81", []any{"WebM"}},
		{"page twice", string(ogg[:bytes.Index(ogg[1:], []byte("OggS"))+1]) + string(ogg), []any{"has the number 0, expected 1"}},
	} {
		_, _, err := decodeAll(t, strings.NewReader(c.file), 1000)
		must.Fail(t, err, c.want...)
	}
	broken := errors.New("broken")
	for _, f := range fixtures {
		file := must.Get(os.ReadFile(filepath.Join("testdata", f.name)))(t)
		for _, n := range []int{0, 3, 20, len(file) / 2, len(file) - 5} {
			_, _, err := decodeAll(t, io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken)), 1000)
			if !errors.Is(err, broken) || errors.Is(err, ErrTruncated) {
				t.Errorf("%s: a reader that fails after %d of %d bytes: error %v", f.name, n, len(file), err)
			}
		}
	}
	must.Reject(Open(iotest.ErrReader(broken)))(t, broken)
	gone := filepath.Join(t.TempDir(), "gone.mp3")
	must.Reject(ReadMono(gone, 8000))(t, os.ErrNotExist, gone)
}

// sox runs sox, or skips the test if it is not installed.
func sox(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("sox")
	if err != nil {
		t.Skip("sox is not installed")
	}
	if out, err := exec.Command(path, append([]string{"-R"}, args...)...).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "no handler") {
			t.Skipf("this sox lacks a format: %s", out)
		}
		t.Fatalf("sox %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// soxTests are options of sox for files of every kind of encoding.
func soxTests() (tests [][]string) {
	add := func(ext string, args ...string) { tests = append(tests, append([]string{ext}, args...)) }
	for _, bits := range []string{"8", "16", "24"} {
		for _, channels := range []string{"1", "2", "6"} {
			add("flac", "-r", "44100", "-b", bits, "-c", channels, "-C", channels)
		}
	}
	for _, level := range []string{"0", "8"} {
		add("flac", "-r", "11025", "-b", "16", "-c", "2", "-C", level)
	}
	for _, rate := range []string{"16000", "22050", "24000", "32000", "44100", "48000"} {
		for _, kilobits := range []string{"32", "80", "128", "-4.2"} {
			add("mp3", "-r", rate, "-c", "1", "-C", kilobits)
			add("mp3", "-r", rate, "-c", "2", "-C", kilobits)
		}
	}
	for _, channels := range []string{"1", "2", "5"} {
		for _, quality := range []string{"-1", "4", "10"} {
			add("ogg", "-r", "8000", "-c", channels, "-C", quality)
			add("ogg", "-r", "44100", "-c", channels, "-C", quality)
		}
	}
	return tests
}

// Every format is decoded as sox decodes it: FLAC exactly, MP3 and Ogg Vorbis within one least
// significant bit of 16. The signal has steps, tones and noise, so that all types of blocks occur.
func TestAgainstSox(t *testing.T) {
	dir := t.TempDir()
	for i, test := range soxTests() {
		if i%3 != 0 || testing.Short() && i%4 != 0 { // a part of the pairs of options
			continue
		}
		t.Run(strings.Join(test, " "), func(t *testing.T) {
			file, raw := filepath.Join(dir, "a."+test[0]), filepath.Join(dir, "a.raw")
			sox(t, slices.Concat([]string{"-n"}, test[1:], []string{file}, strings.Fields("synth 1.5 pluck 300 synth 1.5 noise mix 0.3 synth sq amod 5 gain -6"))...)
			bits := "s16"
			if test[0] == "flac" {
				bits = "s32"
			}
			sox(t, "-D", file, "-t", bits, raw)
			r, got, err := decodeAll(t, must.Get(os.Open(file))(t), 500)
			must.Do(t, err)
			offset, extra := 0, 0
			if r.Container == MP3 {
				extra = 1152 // sox drops the last frame
				if test[len(test)-1][0] == '-' {
					offset = 1105 + map[bool]int{true: 576, false: 1152}[r.Format.SampleRate < 32000]
				}
			}
			expectSox(t, r, got, must.Get(os.ReadFile(raw))(t), offset, extra)
		})
	}
}

func bufReader(b []byte) *bufio.Reader { return bufio.NewReaderSize(bytes.NewReader(b), readerBytes) }
