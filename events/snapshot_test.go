package events_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A Detector that is replaced by its snapshot, anywhere, as often as one likes, gives the same events.
func TestSnapshot(t *testing.T) {
	s := tonemodel.Words()
	f := finder(t, events.Defaults())
	want := fmt.Sprint(listen(t, f, s.Samples, len(s.Samples)))
	for _, every := range []int{79, 1000, 2417, 9001} {
		d := f.NewDetector()
		var got []events.Event
		for x := s.Samples; len(x) > 0; x = x[min(every, len(x)):] {
			got = append(got, process(t, d, x[:min(every, len(x))])...)
			next := f.NewDetector()
			next.Process(s.Samples[:5000]) // what it knew must not matter
			if err := next.Restore(d.Snapshot()); err != nil {
				t.Fatal(err)
			}
			if next.Position() != d.Position() || next.GateOpen() != d.GateOpen() {
				t.Fatalf("restored at %d, listening %t; want %d, %t", next.Position(), next.GateOpen(), d.Position(), d.GateOpen())
			}
			d = next
		}
		if got := fmt.Sprint(append(got, flush(t, d)...)); got != want {
			t.Errorf("restored every %d samples: %s, want %s", every, got, want)
		}
	}
}

// A snapshot that is damaged, or of another detector, is refused and changes nothing.
func TestRestoreRefuses(t *testing.T) {
	s := tonemodel.Words()
	f := finder(t, events.Defaults())
	d := f.NewDetector()
	d.Process(s.Samples[:5000])
	good := d.Snapshot()

	other := listener(t)
	other.Weights.DecoderBias[0]++
	stranger, err := events.New(other, events.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		finder     *events.Recognizer
		snapshot   []byte
	}{
		{"empty", "damaged", f, nil},
		{"cut short", "damaged", f, good[:len(good)-1]},
		{"a bit changed", "damaged", f, flip(good, len(good)/2)},
		{"other options", "options", finder(t, events.Defaults().WithThreshold(0.9)), good},
		{"other model", "model", stranger, good},
		{"not a gob", "snapshot", f, signed([]byte("no snapshot at all"))},
	} {
		d := c.finder.NewDetector()
		d.Process(s.Samples[:3000])
		if err := d.Restore(c.snapshot); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
		fresh := c.finder.NewDetector()
		fresh.Process(s.Samples[:3000])
		rest := s.Samples[3000:]
		got := fmt.Sprint(append(process(t, d, rest), flush(t, d)...))
		if want := fmt.Sprint(append(process(t, fresh, rest), flush(t, fresh)...)); got != want {
			t.Errorf("%s: after the error %s, want %s", c.name, got, want)
		}
	}
}

// Changed bytes under a right checksum give an error or a detector that works.
func FuzzRestore(f *testing.F) {
	s := tonemodel.Words()
	finder := finder(f, events.Defaults())
	for _, n := range []int{0, 3000, 5010, 12345} {
		d := finder.NewDetector()
		d.Process(s.Samples[:n])
		b := d.Snapshot()
		f.Add(b[:len(b)-crc32.Size])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := finder.NewDetector()
		if d.Restore(signed(b)) == nil {
			d.Process(s.Samples[:4000])
			d.Flush()
		}
	})
}

func flip(b []byte, at int) []byte {
	b = append([]byte(nil), b...)
	b[at] ^= 4
	return b
}

func signed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(nil), b...), crc32.ChecksumIEEE(b))
}
