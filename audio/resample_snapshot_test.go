package audio

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

// A restored Resampler continues with the same bits, wherever the snapshot was made.
func TestResamplerSnapshot(t *testing.T) {
	for _, rates := range [][2]int{{8000, 8000}, {16000, 8000}, {8000, 16000}, {44100, 8000}, {11025, 16000}, {192000, 8000}} {
		x := make([]float32, 5000)
		for i := range x {
			x[i] = float32((i*i)%1000)/1000 - 0.5
		}
		convert := func(cut int) []float32 {
			first := must.Get(NewResampler(rates[0], rates[1]))(t)
			second := must.Get(NewResampler(rates[0], rates[1]))(t)
			y := first.Process(nil, x[:cut])
			second.Process(nil, x[:100]) // which Restore replaces
			must.Do(t, second.Restore(first.Snapshot()))
			return second.Flush(second.Process(y, x[cut:]))
		}
		want := convert(0)
		for _, cut := range []int{1, 2, 999, 1024, 2500, 4999, 5000} {
			if !slices.Equal(convert(cut), want) {
				t.Errorf("%v Hz: a snapshot after %d samples changes the output", rates, cut)
			}
		}
	}
}

func TestResamplerRestoreErrors(t *testing.T) {
	newResampler := func(from, to int) *Resampler {
		return must.Get(NewResampler(from, to))(t)
	}
	r := newResampler(44100, 8000)
	r.Process(nil, make([]float32, 3000))
	good := r.Snapshot()
	edit := func(end int, change func(body []byte)) []byte {
		b := bytes.Clone(good[:end])
		change(b[snapshot.HeaderBytes:])
		return snapshot.End(b, 0)
	}
	whole, nothing := len(good)-4, func([]byte) {}
	samples := (whole - snapshot.HeaderBytes - snapshotHead) / 4
	for name, c := range map[string]struct {
		snapshot []byte
		want     string
	}{
		"empty":          {nil, "does not begin"},
		"damaged":        {append(append(bytes.Clone(good[:99]), good[99]^1), good[100:]...), "damaged"},
		"older version":  {good[12:], "does not begin"},
		"level":          {edit(whole, func(b []byte) { copy(b, "abacus\x00\x00") }), "set S4D_LEVEL=abacus"},
		"half a sample":  {edit(whole-2, nothing), "whole samples"},
		"no head":        {edit(snapshot.HeaderBytes+8, nothing), "expected a head"},
		"no samples":     {edit(snapshot.HeaderBytes+snapshotHead, nothing), ": 0 samples, expected"},
		"sample":         {edit(whole, func(b []byte) { copy(b[snapshotHead:], "\x00\x00\xc0\x7f") }), "sample NaN, expected a finite number"},
		"phase":          {edit(whole, func(b []byte) { b[16] = 80 }), "phase 80, expected less than 80"},
		"ratio":          {newResampler(48000, 8000).Snapshot(), "ratio 1/6, expected 80/441"},
		"samples beyond": {snapshot.End(append(bytes.Clone(good[:whole]), make([]byte, 4*(r.width-samples))...), 0), "samples, expected"},
	} {
		before := string(r.Snapshot())
		must.Fail(t, r.Restore(c.snapshot), "audio: a Resampler's snapshot: ", c.want)
		if string(r.Snapshot()) != before {
			t.Errorf("%s: the error changed the state", name)
		}
	}
	for n := range good {
		if r.Restore(good[:n]) == nil {
			t.Errorf("%d of %d bytes: restored", n, len(good))
		}
	}
}

// Every truncation and every flipped bit of a snapshot is an error, and the Resampler stays as it
// was.
func TestDamagedSnapshot(t *testing.T) {
	first, s := must.Get(NewResampler(44100, 8000))(t), must.Get(NewResampler(44100, 8000))(t)
	first.Process(nil, make([]float32, 3000))
	before := s.Snapshot()
	must.Damage(t, first.Snapshot(), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(), before)
	})
}

// Sizes in a forged snapshot, with a correct checksum, and in the headers of sound files cost no
// more memory than a stream of their own, or than docs/reliability.md states.
func TestReaderBounds(t *testing.T) {
	r := must.Get(NewResampler(16000, 8000))(t)
	r.Process(nil, make([]float32, 100))
	b := r.Snapshot()
	must.HugeNumbers(t, 4*len(b)+1<<16, b, func(b []byte) { _ = r.Restore(snapshot.End(b[:len(b)-4], 0)) })
	long := append(b, make([]byte, 16<<20)...)
	must.Allocates(t, 1<<16, func() { _ = r.Restore(long) }, "a long snapshot")
	for _, encoding := range []Encoding{U8, S16LE, S16BE, F32LE} {
		in := must.Get(NewRawReader(bytes.NewReader(make([]byte, 16<<20)), encoding))(t)
		block, err := make([]float32, 1000), error(nil)
		must.Allocates(t, 1<<20, func() {
			for err == nil {
				_, err = in.Read(block)
			}
		}, "16 MiB of %s", encoding)
		must.Fail(t, err, io.EOF)
	}
	files := map[string][]byte{"a WAV file": riff(chunk("fmt ", format(1, 2, 8000, 16)), chunk("LIST", make([]byte, 6)), chunk("data", make([]byte, 64)))}
	for name, most := range map[string]int{"mono.flac": 1000, "joint.mp3": 300, "mono.ogg": 4000} {
		file := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
		files[name] = file[:min(len(file), most)]
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			must.HugeNumbers(t, 16<<20, file, func(b []byte) {
				if name == "mono.ogg" {
					fixOgg(b)
				}
				_, _, _ = decodeAll(t, bytes.NewReader(b), 100)
			})
		})
	}
}

// Bytes with a correct checksum are rejected and change nothing, or they are the snapshot of the
// Resampler that they restore.
func FuzzResamplerRestore(f *testing.F) {
	r := must.Get(NewResampler(16000, 8000))(f)
	for _, n := range []int{0, 1, 100} {
		r.Process(nil, make([]float32, n))
		f.Add(r.Snapshot())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = snapshot.End(bytes.Clone(b[:max(0, len(b)-4)]), 0)
		r := must.Get(NewResampler(16000, 8000))(t)
		want := r.Snapshot()
		if r.Restore(b) == nil {
			want = b
		}
		if got := r.Snapshot(); !bytes.Equal(got, want) {
			t.Fatalf("snapshot %x, expected %x", got, want)
		}
		overflows := slices.ContainsFunc(r.in, func(v float32) bool { return max(v, -v) > 1e30 })
		y := r.Process(nil, make([]float32, 1000))
		if got := len(y); got < 500-r.width || got > 501 {
			t.Errorf("%d samples of 1000 at half the rate, with a filter of %d", got, r.width)
		}
		if !overflows && slices.ContainsFunc(y, func(v float32) bool { return v != v }) {
			t.Errorf("NaN in the samples %v", y)
		}
	})
}
