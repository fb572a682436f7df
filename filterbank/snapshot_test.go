package filterbank_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/filterbank"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/snapshot"
)

// A restored Stream continues with the same bits, wherever the snapshot was made.
func TestSnapshot(t *testing.T) {
	for _, c := range configs() {
		b, x := bank(t, c), sound(20*c.Window, c.SampleRate)
		want := b.NewStream().Process(nil, x)
		for _, cut := range []int{0, 1, c.Hop - 1, c.Hop, c.Window, 2*c.Window + 1, 7 * c.Window, len(x)} {
			first, second := b.NewStream(), b.NewStream()
			y := first.Process(nil, x[:cut])
			second.Process(nil, x[:c.Window/2]) // which Restore replaces
			must.Do(t, second.Restore(first.Snapshot([]byte("prefix"))[6:]))
			if !slices.Equal(second.Process(y, x[cut:]), want) {
				t.Errorf("%+v: a snapshot after %d samples changes the frames", c, cut)
			}
		}
	}
}

// A Config whose Low is -0 equals one whose Low is 0.
func TestSnapshotNegativeZero(t *testing.T) {
	c := filterbank.Config{SampleRate: 1000, Window: 20, Hop: 7, Bands: 2, High: 500, Compression: filterbank.PCEN}
	zero := bank(t, c).NewStream()
	c.Low = math.Copysign(0, -1)
	negative := bank(t, c).NewStream()
	if !bytes.Equal(negative.Snapshot(nil), zero.Snapshot(nil)) {
		t.Error("the snapshots differ")
	}
	must.Do(t, negative.Restore(zero.Snapshot(nil)))
}

func TestRestoreErrors(t *testing.T) {
	c := filterbank.Default(8000)
	stream := func(change func(c *filterbank.Config)) *filterbank.Stream {
		other := c
		change(&other)
		s := bank(t, other).NewStream()
		s.Process(nil, sound(1000, c.SampleRate))
		return s
	}
	s := stream(func(*filterbank.Config) {})
	good := s.Snapshot(nil)
	edit := func(at int, value ...byte) []byte {
		b := bytes.Clone(good[:len(good)-4])
		copy(b[at:], value)
		return snapshot.End(b, 0)
	}
	const smooth, samples = 12 + 8 + 7*8, 12 + 8 + 7*8 + 40*8
	for name, v := range map[string]struct {
		snapshot []byte
		want     string
	}{
		"empty":            {nil, "does not begin"},
		"a bit changed":    {append(bytes.Clone(good[:50]), good[51:]...), "damaged"},
		"version":          {edit(8, 9), "format version 9"},
		"level":            {edit(12, []byte("abacus\x00\x00")...), "set S4D_LEVEL=abacus"},
		"no head":          {snapshot.End(bytes.Clone(good[:40]), 0), "expected a head"},
		"only a head":      {snapshot.End(bytes.Clone(good[:smooth]), 0), "expected a head of"},
		"half a sample":    {snapshot.End(bytes.Clone(good[:len(good)-6]), 0), "samples of 4"},
		"no samples":       {snapshot.End(bytes.Clone(good[:samples]), 0), "96 to 255 samples"},
		"too many samples": {snapshot.End(append(bytes.Clone(good[:len(good)-4]), make([]byte, 4*160)...), 0), "samples of 4"},
		"other rate":       {stream(func(c *filterbank.Config) { c.SampleRate++ }).Snapshot(nil), "sample_rate 8001, this filter bank has 8000"},
		"other bands":      {stream(func(c *filterbank.Config) { c.Bands-- }).Snapshot(nil), "bands 39, this filter bank has 40"},
		"other kind":       {stream(func(c *filterbank.Config) { c.Compression = filterbank.Log }).Snapshot(nil), "compression 0, this filter bank has 1"},
		"negative energy":  {edit(smooth+7, 0xc0), "smoothed energy -"},
		"energy NaN":       {edit(smooth, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f), "smoothed energy NaN of band 0"},
		"sample infinite":  {edit(samples, 0, 0, 0x80, 0x7f), "sample +Inf"},
	} {
		must.Fail(t, s.Restore(v.snapshot), "filterbank: snapshot: ", v.want)
		if !bytes.Equal(s.Snapshot(nil), good) {
			t.Errorf("%s: the error changed the stream", name)
		}
	}
}

// Bytes with a correct checksum are rejected and change nothing, or they are the snapshot of the
// Stream that they restore, which continues.
func FuzzRestore(f *testing.F) {
	b := bank(f, filterbank.Config{SampleRate: 1000, Window: 20, Hop: 7, Bands: 2, Low: 0, High: 500, Compression: filterbank.PCEN})
	x := sound(200, 1000)
	for _, n := range []int{0, 5, 100} {
		s := b.NewStream()
		s.Process(nil, x[:n])
		f.Add(s.Snapshot(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = snapshot.End(bytes.Clone(data[:max(0, len(data)-4)]), 0)
		s := b.NewStream()
		want := s.Snapshot(nil)
		if s.Restore(data) == nil {
			want = data
		}
		if got := s.Snapshot(nil); !bytes.Equal(got, want) {
			t.Fatalf("snapshot %x, expected %x", got, want)
		}
		if got := len(s.Process(nil, x)); got/2 != 28 && got/2 != 29 {
			t.Fatalf("%d values of 200 samples", got)
		}
	})
}

// Every truncation and every flipped bit of a snapshot is an error, and the Stream stays as it
// was.
func TestDamagedSnapshot(t *testing.T) {
	b := bank(t, filterbank.Config{SampleRate: 1000, Window: 20, Hop: 7, Bands: 2, Low: 0, High: 500, Compression: filterbank.PCEN})
	first, s := b.NewStream(), b.NewStream()
	first.Process(nil, sound(100, 1000))
	before := s.Snapshot(nil)
	must.Damage(t, first.Snapshot(nil), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(nil), before)
	})
}
