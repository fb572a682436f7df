package service

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// A file that encoding/gob has written is read as it was, with any value in any field.
func TestDecodeGob(t *testing.T) {
	numbers := []int64{1, -1, 63, -64, 64, 127, 128, -129, 1 << 31, 1 << 40, math.MaxInt64, math.MinInt64}
	count := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		count++
		number := numbers[count%len(numbers)]
		switch v.Kind() {
		case reflect.Struct:
			for i := 0; i < v.NumField() && v.CanSet() && v.Type() != reflect.TypeFor[time.Time](); i++ {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 3, 3))
			for i := range 3 {
				fill(v.Index(i))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.String:
			v.SetString(strings.Repeat("text", count))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Uint8:
			v.SetUint(uint64(count % 256))
		case reflect.Float64:
			v.SetFloat(float64(number) / 3)
		default:
			v.SetInt(number)
		}
	}
	for range numbers {
		count++
		want := snapshot{Saved: time.Unix(int64(count), 5).UTC()}
		fill(reflect.ValueOf(&want).Elem())
		b := must.Get(encodeSnapshot(want))(t)[headerSize:]
		if got := must.Get(decodeGob(b))(t); !reflect.DeepEqual(*got, want) {
			t.Errorf("read as %+v, expected %+v", *got, want)
		}
		for n := range b {
			must.Reject(decodeGob(b[:n]))(t, errInvalidGob)
		}
		must.Reject(decodeGob(append(b, 0)))(t, errInvalidGob)
	}
}

// Sizes in a forged snapshot, with a correct checksum, are not allocated, and neither are more
// events than a stream remembers. Errors do not repeat long texts.
func TestSnapshotBounds(t *testing.T) {
	forge := func(id identity) []byte {
		return must.Get(encodeSnapshot(snapshot{id, newRecognizer(t).NewDetector().Snapshot(), []byte("state"), time.Unix(1, 0)}))(t)
	}
	b := forge(identity{ID: "a", EventCount: 1, Recent: []report.Event{{Type: "event"}}, SampleRate: 8000})
	must.HugeNumbers(t, snapshotMemory(b), b, func(b []byte) {
		binary.LittleEndian.PutUint32(b[len(magic):], crc32.ChecksumIEEE(b[headerSize:]))
		_, _ = decodeSnapshot(b)
	})
	long := strings.Repeat("\x00", 1<<20)
	for want, id := range map[string]identity{
		"its content is invalid":   {ID: "a", EventCount: 1 << 20, Recent: make([]report.Event, 1<<20)}, // a byte each
		"the name":                 {ID: long},
		"an event":                 {ID: "a", EventCount: 1, Recent: []report.Event{{Type: long, Label: long}}},
		"an invalid end line":      {ID: "a", End: &report.End{Type: long}},
		"expected at most 1000000": {ID: "a", Client: long, SampleRate: 1e7},
	} {
		b := forge(id)
		must.Allocates(t, snapshotMemory(b), func() { must.Reject(decodeSnapshot(b))(t, want) }, "%d bytes: %s", len(b), want)
	}
	path := filepath.Join(t.TempDir(), "a")
	must.Do(t, os.WriteFile(path, b, 0o600))
	must.Do(t, os.Truncate(path, 1<<30))
	must.Allocates(t, 5*maxSnapshot, func() { must.Reject((&store{files: atomicfile.System()}).read(path))(t, "longer than 16777216 bytes") }, "a snapshot of 1 GiB")
}

// snapshotMemory returns how many bytes a snapshot may allocate that has been read from its file.
func snapshotMemory(b []byte) int { return len(b) + 1<<16 }

// Bytes that decode as a snapshot encode to a snapshot that decodes to the same. If its stream can
// be resumed, its later lines have no NaN. Little more than the size of the file is allocated.
func FuzzSnapshot(f *testing.F) {
	r, x := newRecognizer(f), tonemodel.Words().Samples[:9000]
	for _, rate := range []int{tonemodel.SampleRate, 16000} {
		d, state := r.NewDetector(), []byte(nil)
		d.Process(x)
		if rate != tonemodel.SampleRate {
			up := must.Get(audio.NewResampler(rate, tonemodel.SampleRate))(f)
			up.Process(nil, x)
			state = up.Snapshot()
		}
		id := identity{ID: "a", EventCount: 1, Recent: []report.Event{{Type: "event"}}, SampleRate: float64(rate)}
		f.Add(must.Get(encodeSnapshot(snapshot{id, d.Snapshot(), state, time.Unix(1, 0)}))(f)[headerSize:])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		b := append([]byte(magic+"\x00\x00\x00\x00"), content...)
		if _, err := decodeSnapshot(b); err == nil && crc32.ChecksumIEEE(content) != 0 {
			t.Error("a wrong checksum is accepted")
		}
		binary.LittleEndian.PutUint32(b[len(magic):], crc32.ChecksumIEEE(content))
		var v *snapshot
		var err error
		must.Allocates(t, snapshotMemory(b), func() { v, err = decodeSnapshot(b) }, "%d bytes", len(b))
		if err != nil {
			return
		}
		first := must.Get(encodeSnapshot(*v))(t)
		if n := int64(len(v.Identity.Recent)); n > maxRecent || n > v.Identity.EventCount {
			t.Errorf("%d remembered of %d events", n, v.Identity.EventCount)
		}
		v = must.Get(decodeSnapshot(first))(t)
		if second, err := encodeSnapshot(*v); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v: the second round trip differs from the first", err)
		}
		st := &stream{identity: v.Identity, detector: r.NewDetector(), resamplerState: v.Resampler}
		if st.detector.Restore(v.Detector) != nil || st.setRate(st.SampleRate, tonemodel.SampleRate, true) != nil {
			return
		}
		y := x
		if st.resampler != nil {
			y = st.resampler.Process(nil, x)
		}
		found, _ := st.detector.Process(y)
		for _, e := range found {
			must.Get(json.Marshal(report.NewEvent(e, func(n int64) int64 { return n })))(t)
		}
	})
}
