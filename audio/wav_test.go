package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/s4d-fast/s4d-fast/internal/must"
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
func all(r Source, n int) ([]float32, error) {
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
		{"double", format(3, 1, 8000, 64), binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.25)), []float32{-0.25}, Format{8000, 1, 64, true}},
		{"A-law", format(6, 1, 8000, 8), []byte{0xd5, 0x55, 0xaa, 0x2a, 0x80, 0xc5}, []float32{8. / 32768, -8. / 32768, 32256. / 32768, -32256. / 32768, 5504. / 32768, 264. / 32768}, Format{8000, 1, 8, false}},
		{"mu-law", format(7, 1, 8000, 8), []byte{0xff, 0x7f, 0x80, 0x00, 0xf0, 0x0f}, []float32{0, 0, 32124. / 32768, -32124. / 32768, 120. / 32768, -16764. / 32768}, Format{8000, 1, 8, false}},
		{"no size of frames", slices.Concat(format(1, 1, 8000, 16)[:12], []byte{0, 0, 16, 0}), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
		{"12 bits", slices.Concat(format(1, 1, 8000, 16)[:14], []byte{12, 0}), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
		{"20 bits", slices.Concat(format(1, 2, 8000, 24)[:14], []byte{20, 0}), []byte{0, 0, 0x40, 0, 0, 0xc0}, []float32{0.5, -0.5}, Format{8000, 2, 24, false}},
		{"fmt chunk of 18 bytes", append(format(1, 1, 8000, 16), 0, 0), []byte{0, 0x40}, []float32{0.5}, Format{8000, 1, 16, false}},
	}
	for _, tt := range tests {
		file := riff(chunk("JUNK", []byte{1, 2, 3}), chunk("fmt ", tt.fmt), chunk("LIST", make([]byte, 7)), chunk("data", tt.data), chunk("LIST", make([]byte, 10)))
		for kind, in := range map[string]io.Reader{"whole": bytes.NewReader(file), "bytewise": iotest.OneByteReader(bytes.NewReader(file))} {
			r, err := OpenWAV(in)
			if err != nil {
				t.Errorf("%s %s: %v", tt.name, kind, err)
				continue
			}
			must.Equal(t, r.Format, tt.f, "%s %s: format", tt.name, kind)
			got, err := all(r, r.Format.Channels)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s %s: %v, %v; expected %v", tt.name, kind, got, err, tt.want)
			}
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
		{"text", []byte("RIFX this is no wave file"), `starts with "RIFX`},
		{"data first", riff(data, fmt16), "before a fmt chunk"},
		{"no data", riff(fmt16), "before any data chunk"},
		{"IMA ADPCM", riff(chunk("fmt ", format(0x11, 1, 8000, 4)), data), "WAV with the format tag 0x11 and 4 bits is read only through ffmpeg"},
		{"absurd rate", riff(chunk("fmt ", format(1, 1, -1, 16)), data), "4294967295 Hz"},
		{"frame size", riff(chunk("fmt ", misaligned), data), "frames of 3 bytes, expected 2"},
		{"absurd unknown chunk", append(riff(), "LIST\xff\xff\xff\xff"...), `"LIST" chunk of 4294967295 bytes`},
	}
	for _, tt := range tests {
		must.Reject(OpenWAV(bytes.NewReader(tt.file)))(t, tt.want)
	}
	whole := riff(chunk("JUNK", []byte{1, 2, 3}), chunk("fmt ", extensible(1, 1, 8000, 16)), data)
	for n := range len(whole) - 2 {
		if _, err := OpenWAV(bytes.NewReader(whole[:n])); !errors.Is(err, ErrTruncated) {
			t.Errorf("header cut to %d bytes: error %v", n, err)
		}
	}
	broken := errors.New("broken")
	must.Reject(OpenWAV(io.MultiReader(bytes.NewReader(whole[:20]), iotest.ErrReader(broken))))(t, broken)
}

func TestReadRejects(t *testing.T) {
	inf := binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0}, math.Float32bits(float32(math.Inf(1))))
	r := must.Get(OpenWAV(bytes.NewReader(riff(chunk("fmt ", format(3, 1, 8000, 32)), chunk("data", inf)))))(t)
	if got, err := all(r, 5); len(got) != 1 || err == nil || !strings.Contains(err.Error(), "sample 1 is +Inf") {
		t.Errorf("infinite sample: %v, error %v", got, err)
	}
	stereo := must.Get(OpenWAV(bytes.NewReader(riff(chunk("fmt ", format(1, 2, 8000, 16)), chunk("data", make([]byte, 8))))))(t)
	if _, err := stereo.Read(make([]float32, 1)); err == nil {
		t.Error("a buffer shorter than a frame: no error")
	}
	if n, err := stereo.Read(make([]float32, 3)); n != 2 || err != nil {
		t.Errorf("a buffer of a frame and a half: %d samples, error %v; expected 2", n, err)
	}
	broken := errors.New("broken")
	var file bytes.Buffer
	must.Do(t, WriteWAV(&file, 8000, make([]float32, 4)))
	r = must.Get(OpenWAV(io.MultiReader(bytes.NewReader(file.Bytes()[:48]), iotest.ErrReader(broken))))(t)
	if got, err := all(r, 5); len(got) != 2 || !errors.Is(err, broken) {
		t.Errorf("failing reader: %v, error %v", got, err)
	}
}

// From a pipe, the header is read before the first sample arrives, and each sample as soon as it
// does.
func TestPipeDoesNotWait(t *testing.T) {
	var file bytes.Buffer
	must.Do(t, WriteWAV(&file, 8000, []float32{0.5, -0.5}))
	b := file.Bytes()
	in, out := io.Pipe()
	go out.Write(b[:44])
	r := must.Get(OpenWAV(in))(t)
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

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clip.wav")
	in := []float32{0, 1, -1, 2, -2, 0.5, 1.4 / 32768, 1.6 / 32768}
	must.Do(t, WriteWAVFile(path, 16000, in))
	const top = 32767.0 / 32768
	want := []float32{0, top, -1, top, -1, 0.5, 1.0 / 32768, 2.0 / 32768}
	same := func(when string) {
		t.Helper()
		r := must.Get(Open(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t)
		got := must.Get(all(r, 100))(t)
		if !slices.Equal(got, want) || r.Format != (Format{16000, 1, 16, false}) {
			t.Errorf("%s: read %v, %+v, expected %v", when, got, r.Format, want)
		}
	}
	same("after writing")
	must.Fail(t, WriteWAVFile(path, 8000, []float32{0, float32(math.NaN())}), "sample 1 is NaN")
	same("after NaN")
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
		r, err := OpenWAV(bytes.NewReader(file))
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
		again := must.Get(OpenWAV(iotest.OneByteReader(bytes.NewReader(file))))(t)
		want, err2 := all(again, channels*100)
		if !slices.Equal(got, want) {
			t.Fatalf("in blocks of %d frames %v, expected %v", 1+block&0xF, got, want)
		}
		if (err1 == nil) != (err2 == nil) || errors.Is(err1, ErrTruncated) != errors.Is(err2, ErrTruncated) {
			t.Fatalf("in blocks of %d frames error %v, expected %v", 1+block&0xF, err1, err2)
		}
		if r.Format.Float || r.Format.Bits > 16 {
			return
		}
		var written bytes.Buffer
		must.Do(t, WriteWAV(&written, 8000, got))
		r = must.Get(OpenWAV(&written))(t)
		if back, err := all(r, 100); err != nil || !slices.Equal(back, got) {
			t.Fatalf("written and read: %v, error %v, expected %v", back, err, got)
		}
	})
}
