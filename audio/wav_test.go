package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// chunk is an id, a size and a body, padded to even length.
func chunk(id string, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// format is the body of a fmt chunk.
func format(tag, channels, rate, bits int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(nil, uint16(tag))
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate*channels*bits/8))
	b = le.AppendUint16(b, uint16(channels*bits/8))
	return le.AppendUint16(b, uint16(bits))
}

// extensible is the body of a fmt chunk whose tag is in a GUID.
func extensible(tag, channels, rate, bits int) []byte {
	b := format(tagExtensible, channels, rate, bits)
	b = append(b, 22, 0, byte(bits), 0, 0, 0, 0, 0)
	b = append(b, byte(tag), 0)
	return append(b, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x008\x9bq"...)
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WAVE"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// all reads to the end in blocks of n samples.
func all(r *WAVReader, n int) ([]float32, error) {
	var out []float32
	buf := make([]float32, n)
	for {
		k, err := r.Read(buf)
		out = append(out, buf[:k]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

func TestReaderDecodes(t *testing.T) {
	float := func(v ...float32) []byte {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	tests := []struct {
		name string
		fmt  []byte
		data []byte
		want []float32
		f    Format
	}{
		{"u8", format(1, 1, 8000, 8), []byte{128, 0, 255}, []float32{0, -1, 127.0 / 128}, Format{8000, 1, 8, false}},
		{"s16", format(1, 1, 8000, 16), []byte{0, 0, 0xff, 0x7f, 0, 0x80, 1, 0}, []float32{0, 32767.0 / 32768, -1, 1.0 / 32768}, Format{8000, 1, 16, false}},
		{"s16 stereo", format(1, 2, 44100, 16), []byte{1, 0, 2, 0, 3, 0, 4, 0}, []float32{1.0 / 32768, 2.0 / 32768, 3.0 / 32768, 4.0 / 32768}, Format{44100, 2, 16, false}},
		{"s24", format(1, 1, 96000, 24), []byte{0, 0, 0x80, 0xff, 0xff, 0x7f, 1, 0, 0, 0xff, 0xff, 0xff}, []float32{-1, 8388607.0 / 8388608, 1.0 / 8388608, -1.0 / 8388608}, Format{96000, 1, 24, false}},
		{"s32", format(1, 1, 48000, 32), []byte{0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0x40}, []float32{-1, 1 - 0x1p-24, 0.5}, Format{48000, 1, 32, false}},
		{"float", format(3, 1, 48000, 32), float(0.25, -1.5, 1e-30), []float32{0.25, -1.5, 1e-30}, Format{48000, 1, 32, true}},
		{"extensible s16", extensible(1, 1, 8000, 16), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
		{"extensible float", extensible(3, 2, 8000, 32), float(0.5, -0.5), []float32{0.5, -0.5}, Format{8000, 2, 32, true}},
		{"fmt chunk of 17 bytes", append(format(1, 1, 8000, 16), 0), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
		{"fmt chunk of 18 bytes", append(format(1, 1, 8000, 16), 0, 0), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
	}
	for _, tt := range tests {
		file := riff(chunk("JUNK", []byte{1, 2, 3}), chunk("fmt ", tt.fmt), chunk("LIST", make([]byte, 7)), chunk("data", tt.data), chunk("LIST", make([]byte, 10)))
		for kind, in := range map[string]io.Reader{"whole": bytes.NewReader(file), "bytewise": iotest.OneByteReader(bytes.NewReader(file))} {
			r, err := NewWAVReader(in)
			if err != nil {
				t.Errorf("%s %s: %v", tt.name, kind, err)
				continue
			}
			if r.Format != tt.f {
				t.Errorf("%s %s: format %+v, expected %+v", tt.name, kind, r.Format, tt.f)
			}
			got, err := all(r, r.Format.Channels)
			if err != nil || !slices.Equal(got, tt.want) || r.Truncated || r.SizeUnknown {
				t.Errorf("%s %s: %v, %v, truncated %t, size unknown %t; expected %v", tt.name, kind, got, err, r.Truncated, r.SizeUnknown, tt.want)
			}
		}
	}
}

// The samples do not depend on the size of reads, smaller or larger than the reader's own block.
func TestBlockSizes(t *testing.T) {
	want := make([]float32, 3*blockBytes/2+1)
	for i := range want {
		want[i] = float32(i%1001-500) / 1024
	}
	var file bytes.Buffer
	if err := WriteWAV(&file, 8000, want); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 7, blockBytes / 2, blockBytes, len(want), len(want) + 1} {
		r, err := NewWAVReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := all(r, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("blocks of %d: %d samples, error %v; expected %d", n, len(got), err, len(want))
		}
	}
}

func TestWrongSizes(t *testing.T) {
	const sizeAt = 40
	var file bytes.Buffer
	if err := WriteWAV(&file, 8000, []float32{0.5, -0.5, 0.25}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name               string
		size               uint32
		drop               int // bytes
		samples            int
		unknown, truncated bool
		fileError          string // of ReadFile
	}{
		{"right", 6, 0, 3, false, false, ""},
		{"zero", 0, 0, 3, true, false, ""},
		{"all ones", 0xFFFFFFFF, 0, 3, true, false, ""},
		{"sox", 0x7FFFF000, 0, 3, true, false, ""},
		{"arecord", 0x80000000, 0, 3, true, false, ""},
		{"no samples", 0, 6, 0, true, false, ""},
		{"smaller than the data", 4, 0, 2, false, false, ""},
		{"half a sample too many", 5, 0, 2, false, false, ""},
		{"larger than the data", 1 << 20, 0, 3, false, true, "declares 1048576 bytes, the file has 6"},
		{"cut", 6, 2, 2, false, true, "declares 6 bytes, the file has 4"},
		{"cut inside a sample", 6, 1, 2, false, true, "declares 6 bytes, the file has 5"},
		{"cut to nothing", 6, 6, 0, false, true, "declares 6 bytes, the file has 0"},
		{"unknown, cut inside a sample", 0, 1, 2, true, true, "inside a frame after 5 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(file.Bytes()[:file.Len()-tt.drop])
			binary.LittleEndian.PutUint32(b[sizeAt:], tt.size)
			r, err := NewWAVReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := all(r, 10)
			if want := []float32{0.5, -0.5, 0.25}[:tt.samples]; err != nil || !slices.Equal(got, want) {
				t.Errorf("stream: %v, error %v; expected %v", got, err, want)
			}
			if r.SizeUnknown != tt.unknown || r.Truncated != tt.truncated {
				t.Errorf("size unknown %t, truncated %t; expected %t, %t", r.SizeUnknown, r.Truncated, tt.unknown, tt.truncated)
			}
			path := filepath.Join(t.TempDir(), "clip.wav")
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			samples, _, err := ReadWAVFile(path)
			if tt.fileError == "" {
				if err != nil || len(samples) != tt.samples {
					t.Errorf("file: %d samples, error %v; expected %d", len(samples), err, tt.samples)
				}
			} else if !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), tt.fileError) || !strings.Contains(err.Error(), path) {
				t.Errorf("file: error %v, expected %q and the path", err, tt.fileError)
			}
		})
	}
}

// Only the placeholders that programs write leave the amount of data open; other large sizes are
// real, such as that of 3.1 hours of 48 kHz stereo.
func TestLargeSizes(t *testing.T) {
	for name, c := range map[string]struct {
		size    uint32
		unknown bool
	}{
		"3.1 h at 48 kHz, stereo":   {3*3600*48000*4 + 6*60*48000*4, false},
		"below all placeholders":    {0x7FFE0000, false},
		"between two placeholders":  {0x7FFF8000, false},
		"just above 2 GiB":          {0x80000004, false},
		"nearly 4 GiB":              {0xFFFF0000, false},
		"zero":                      {0, true},
		"GStreamer":                 {0x7FFF0000, true},
		"sox":                       {0x7FFFF000, true},
		"arecord":                   {0x80000000, true},
		"an older arecord":          {0x7FFFFF00, true},
		"largest signed":            {0x7FFFFFFF, true},
		"ffmpeg":                    {0xFFFFFFFF, true},
		"less a header of 44 bytes": {0xFFFFFFFF - 44, true},
		"whole frames":              {0xFFFFFFFC, true},
	} {
		b := riff(chunk("fmt ", format(1, 2, 48000, 16)), chunk("data", []byte{0, 0x40, 0, 0xc0}), chunk("LIST", make([]byte, 8)))
		binary.LittleEndian.PutUint32(b[40:], c.size)
		r, err := NewWAVReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if r.SizeUnknown != c.unknown {
			t.Errorf("%s: size unknown is %t, expected %t", name, r.SizeUnknown, c.unknown)
		}
		if c.unknown {
			continue
		}
		r.got = int64(c.size) - 4 // all but the last frame has been read
		got, err := all(r, 10)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := []float32{0.5, -0.5}; !slices.Equal(got, want) {
			t.Errorf("%s: the end of the data is %v, expected %v without the LIST chunk", name, got, want)
		}
	}
}

// The size of data beyond 4 GiB stands in a ds64 chunk.
func TestRF64(t *testing.T) {
	le := binary.LittleEndian
	file := func(magic string, size uint64) []byte {
		ds64 := le.AppendUint64(le.AppendUint64(nil, 0), size)
		ds64 = append(ds64, make([]byte, 12)...)
		b := riff(chunk("ds64", ds64), chunk("fmt ", format(1, 1, 8000, 16)), chunk("data", []byte{0, 0x40, 0, 0xc0}), chunk("LIST", make([]byte, 8)))
		copy(b, magic)
		le.PutUint32(b[bytes.Index(b, []byte("data"))+4:], 0xFFFFFFFF)
		return b
	}
	for _, c := range []struct {
		name    string
		file    []byte
		samples int
		unknown bool
	}{
		{"RF64", file("RF64", 4), 2, false},
		{"BW64", file("BW64", 4), 2, false},
		{"no size", file("RF64", 0), 10, true},
		{"size of all ones", file("RF64", math.MaxUint64), 10, true},
		{"RIFF, which has no ds64", file("RIFF", 4), 10, true},
	} {
		r, err := NewWAVReader(bytes.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(r, 3)
		if err != nil || len(got) != c.samples {
			t.Errorf("%s: %d samples, error %v, expected %d samples", c.name, len(got), err, c.samples)
		}
		if r.SizeUnknown != c.unknown || r.Truncated {
			t.Errorf("%s: size unknown %t, truncated %t, expected %t and false", c.name, r.SizeUnknown, r.Truncated, c.unknown)
		}
	}
	short := riff(chunk("ds64", make([]byte, 8)))
	copy(short, "RF64")
	if _, err := NewWAVReader(bytes.NewReader(short)); err == nil || !strings.Contains(err.Error(), "ds64 chunk of 8 bytes") {
		t.Errorf("short ds64 chunk: error %v", err)
	}
}

// A NaN is an error wherever blocks end, and a file with one is not truncated, however short.
func TestNaNInTruncatedFile(t *testing.T) {
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	b := riff(chunk("fmt ", format(3, 1, 8000, 32)), chunk("data", append(nan, nan...)))
	for block := 1; block <= 3; block++ {
		r, err := NewWAVReader(bytes.NewReader(b[:len(b)-2]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all(r, block); err == nil || r.Truncated {
			t.Errorf("in blocks of %d: error %v, truncated %t", block, err, r.Truncated)
		}
	}
}

func TestWAVErrors(t *testing.T) {
	data := chunk("data", []byte{1, 0})
	fmt16 := chunk("fmt ", format(1, 1, 8000, 16))
	guid := extensible(1, 1, 8000, 16)
	guid[39]++
	misaligned := format(1, 1, 8000, 16)
	misaligned[12] = 3
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "after 0 bytes"},
		{"text", []byte("RIFX this is no wave file"), `starts with "RIFX`},
		{"another RIFF", append([]byte("RIFF\x10\x00\x00\x00AVI "), data...), `AVI `},
		{"data first", riff(data, fmt16), "before a fmt chunk"},
		{"no data", riff(fmt16), "after 36 bytes"},
		{"short fmt", riff(chunk("fmt ", make([]byte, 14)), data), "fmt chunk of 14 bytes"},
		{"A-law", riff(chunk("fmt ", format(6, 1, 8000, 8)), data), "tag 0x6 with 8 bits"},
		{"12 bits", riff(chunk("fmt ", format(1, 1, 8000, 12)), data), "with 12 bits"},
		{"float of 64 bits", riff(chunk("fmt ", format(3, 1, 8000, 64)), data), "tag 0x3 with 64 bits"},
		{"foreign GUID", riff(chunk("fmt ", guid), data), "sub-format"},
		{"extensible without GUID", riff(chunk("fmt ", format(tagExtensible, 1, 8000, 16)), data), "sub-format"},
		{"no channel", riff(chunk("fmt ", format(1, 0, 8000, 16)), data), "0 channels"},
		{"no rate", riff(chunk("fmt ", format(1, 1, 0, 16)), data), "at 0 Hz"},
		{"absurd rate", riff(chunk("fmt ", format(1, 1, -1, 16)), data), "4294967295 Hz"},
		{"frame size", riff(chunk("fmt ", misaligned), data), "frames of 3 bytes, expected 2"},
		{"absurd unknown chunk", append(riff(), "LIST\xff\xff\xff\xff"...), `"LIST" chunk of 4294967295 bytes`},
	}
	for _, tt := range tests {
		if _, err := NewWAVReader(bytes.NewReader(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, expected %q", tt.name, err, tt.want)
		}
	}
	whole := riff(chunk("JUNK", []byte{1, 2, 3}), chunk("fmt ", extensible(1, 1, 8000, 16)), data)
	for n := range len(whole) - 2 {
		if _, err := NewWAVReader(bytes.NewReader(whole[:n])); !errors.Is(err, ErrTruncated) {
			t.Errorf("header cut to %d bytes: error %v", n, err)
		}
	}
	broken := errors.New("broken")
	if _, err := NewWAVReader(io.MultiReader(bytes.NewReader(whole[:20]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("failing reader: error %v", err)
	}
	if _, _, err := ReadWAVFile(filepath.Join(t.TempDir(), "gone.wav")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone.wav") {
		t.Errorf("missing file: error %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	inf := binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0}, math.Float32bits(float32(math.Inf(1))))
	r, err := NewWAVReader(bytes.NewReader(riff(chunk("fmt ", format(3, 1, 8000, 32)), chunk("data", inf))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(r, 5); len(got) != 1 || err == nil || !strings.Contains(err.Error(), "sample 1 is +Inf") {
		t.Errorf("infinite sample: %v, error %v", got, err)
	}
	stereo, err := NewWAVReader(bytes.NewReader(riff(chunk("fmt ", format(1, 2, 8000, 16)), chunk("data", make([]byte, 8)))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stereo.Read(make([]float32, 1)); err == nil {
		t.Error("a buffer without room for a frame: no error")
	}
	if n, err := stereo.Read(make([]float32, 3)); n != 2 || err != nil {
		t.Errorf("a buffer of a frame and a half: %d samples, error %v; expected 2", n, err)
	}
	broken := errors.New("broken")
	var file bytes.Buffer
	if err := WriteWAV(&file, 8000, make([]float32, 4)); err != nil {
		t.Fatal(err)
	}
	r, err = NewWAVReader(io.MultiReader(bytes.NewReader(file.Bytes()[:48]), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(r, 5); len(got) != 2 || !errors.Is(err, broken) || r.Truncated {
		t.Errorf("failing reader: %v, error %v, truncated %t", got, err, r.Truncated)
	}
}

// From a pipe, the header is read before the first sample arrives, and each sample as soon as it
// does.
func TestPipeDoesNotWait(t *testing.T) {
	var file bytes.Buffer
	if err := WriteWAV(&file, 8000, []float32{0.5, -0.5}); err != nil {
		t.Fatal(err)
	}
	b := file.Bytes()
	in, out := io.Pipe()
	go out.Write(b[:44])
	r, err := NewWAVReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{0.5, -0.5} {
		go out.Write(b[44+2*i : 46+2*i])
		got := make([]float32, 1)
		if n, err := r.Read(got); n != 1 || err != nil || got[0] != want {
			t.Fatalf("sample %d: %v, %d, %v; expected %v", i, got, n, err, want)
		}
	}
	if n, err := r.Read(make([]float32, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the last sample: %d, %v, expected EOF though the pipe is open", n, err)
	}
}

// The size that a header declares is not allocated in advance.
func TestAbsurdHeaderAllocatesLittle(t *testing.T) {
	b := riff(chunk("fmt ", format(1, 16383, 8000, 32)), chunk("data", make([]byte, 8)))
	binary.LittleEndian.PutUint32(b[len(b)-12:], 0x70000000)
	path := filepath.Join(t.TempDir(), "clip.wav")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ReadWAVFile(path)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("error %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("reading a file of %d bytes allocated %d", len(b), grown)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clip.wav")
	in := []float32{0, 1, -1, 2, -2, 0.5, 1.4 / 32768, 1.6 / 32768}
	if err := WriteWAVFile(path, 16000, in); err != nil {
		t.Fatal(err)
	}
	const top = 32767.0 / 32768
	want := []float32{0, top, -1, top, -1, 0.5, 1.0 / 32768, 2.0 / 32768}
	same := func(when string) {
		t.Helper()
		got, f, err := ReadWAVFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || f != (Format{16000, 1, 16, false}) {
			t.Errorf("%s: read %v, %+v, expected %v", when, got, f, want)
		}
	}
	same("after writing")
	for name, c := range map[string]struct {
		rate    int
		samples []float32
		want    string
	}{
		"rate 0": {0, in, "0 Hz"},
		"NaN":    {8000, []float32{0, float32(math.NaN())}, "sample 1 is NaN"},
	} {
		if err := WriteWAVFile(path, c.rate, c.samples); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected %q", name, err, c.want)
		}
		same("after " + name)
	}
	if err := WriteWAVFile(filepath.Join(path, "x.wav"), 8000, in); err == nil {
		t.Error("a file inside a file: no error")
	}
}

// The samples do not depend on how the stream is cut, and those of 16 bits survive a round trip.
// To fuzz: go test -fuzz=FuzzWAV -fuzzminimizetime=1s ./audio
func FuzzWAV(f *testing.F) {
	for _, format := range [][]byte{format(1, 1, 8000, 16), format(1, 3, 8000, 24), format(3, 1, 8000, 32), extensible(1, 2, 8000, 8)} {
		f.Add(riff(chunk("fmt ", format), chunk("data", make([]byte, 24))), 1)
	}
	f.Fuzz(func(t *testing.T, file []byte, block int) {
		r, err := NewWAVReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		channels := r.Format.Channels
		got, err1 := all(r, channels*(1+block&0xF))
		if len(got) > len(file) {
			t.Fatalf("%d samples from %d bytes", len(got), len(file))
		}
		if err1 == nil && len(got)%channels != 0 {
			t.Fatalf("%d samples of %d channels", len(got), channels)
		}
		again, err := NewWAVReader(iotest.OneByteReader(bytes.NewReader(file)))
		if err != nil {
			t.Fatal(err)
		}
		want, err2 := all(again, channels*100)
		if !slices.Equal(got, want) {
			t.Fatalf("in blocks of %d frames %v, expected %v", 1+block&0xF, got, want)
		}
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("in blocks of %d frames error %v, expected %v", 1+block&0xF, err1, err2)
		}
		if r.Truncated != again.Truncated {
			t.Fatalf("in blocks of %d frames truncated is %t, expected %t", 1+block&0xF, r.Truncated, again.Truncated)
		}
		if r.Format.Float || r.Format.Bits > 16 {
			return
		}
		var written bytes.Buffer
		if err := WriteWAV(&written, 8000, got); err != nil {
			t.Fatal(err)
		}
		if r, err = NewWAVReader(&written); err != nil {
			t.Fatal(err)
		}
		if back, err := all(r, 100); err != nil || !slices.Equal(back, got) {
			t.Fatalf("written and read: %v, error %v, expected %v", back, err, got)
		}
	})
}
