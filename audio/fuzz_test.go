package audio

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// fuzzed decodes a file with blocks of two sizes and compares the results. It reads no more than a
// million samples.
func fuzzed(t *testing.T, open func() (*Reader, error), block int) {
	decode := func(frames int) (got []float32, err error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		f := r.Format
		if f.SampleRate < 1 || f.Channels < 1 || f.Channels > 1<<16 {
			t.Fatalf("format %+v", f)
		}
		buf := make([]float32, frames*f.Channels)
		for len(got) < 1e6 {
			n, err := r.Read(buf)
			if n%f.Channels != 0 {
				t.Fatalf("%d samples of %d channels", n, f.Channels)
			}
			got = append(got, buf[:n]...)
			if err != nil {
				return got, err
			}
			if n < len(buf) {
				t.Fatalf("%d samples without an error, expected %d", n, len(buf))
			}
		}
		return got[:1e6], io.EOF
	}
	got, err1 := decode(1 + block&0x3ff)
	if i := notFinite(got); i >= 0 {
		t.Fatalf("sample %d is %v", i, got[i])
	}
	want, err2 := decode(2048)
	if !slices.Equal(got, want) || (err1 == io.EOF) != (err2 == io.EOF) {
		t.Fatalf("blocks of %d frames: %d samples and error %v, expected %d and %v", 1+block&0x3ff, len(got), err1, len(want), err2)
	}
}

// addFixtures adds the files of a format to the seeds.
func addFixtures(f *testing.F, container Container) {
	for _, fixture := range fixtures {
		if fixture.container == container {
			f.Add(must.Get(os.ReadFile(filepath.Join("testdata", fixture.name)))(f), 3)
		}
	}
}

// To fuzz: go test -fuzz=FuzzFLAC -fuzzminimizetime=1s ./audio
func FuzzFLAC(f *testing.F) {
	addFixtures(f, FLAC)
	f.Add(silentFLAC(1), 3)
	f.Fuzz(func(t *testing.T, file []byte, block int) {
		fuzzed(t, func() (*Reader, error) {
			r := &Reader{}
			return r, r.openFLAC(bufio.NewReader(bytes.NewReader(file)), &flacStream{unchecked: true})
		}, block)
	})
}

func FuzzMP3(f *testing.F) {
	addFixtures(f, MP3)
	f.Fuzz(func(t *testing.T, file []byte, block int) {
		fuzzed(t, func() (*Reader, error) {
			return Open(bytes.NewReader(append([]byte("\xff\xfb"), file[min(len(file), 2):]...)))
		}, block)
	})
}

func FuzzOgg(f *testing.F) {
	addFixtures(f, Ogg)
	f.Fuzz(func(t *testing.T, file []byte, block int) {
		file = bytes.Clone(file)
		fixOgg(file)
		fuzzed(t, func() (*Reader, error) { return Open(bytes.NewReader(file)) }, block)
	})
}
