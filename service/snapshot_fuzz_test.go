package service

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
	"github.com/s4d-fast/s4d-fast/report"
)

// Sizes in a forged snapshot, with a correct checksum, are not allocated.
func TestSnapshotBounds(t *testing.T) {
	id := identity{ID: "a", EventCount: 1, Recent: []report.Event{{Type: "event"}}, SampleRate: 8000}
	b := must.Get(encodeSnapshot(snapshot{id, newRecognizer(t).NewDetector().Snapshot(), []byte("state"), time.Unix(1, 0)}))(t)
	must.HugeNumbers(t, 16<<20, b, func(b []byte) {
		binary.LittleEndian.PutUint32(b[len(magic):], crc32.ChecksumIEEE(b[headerSize:]))
		_, _ = decodeSnapshot(b)
	})
	path := filepath.Join(t.TempDir(), "a")
	must.Do(t, os.WriteFile(path, b, 0o600))
	must.Do(t, os.Truncate(path, 1<<30))
	must.Allocates(t, 8*maxSnapshot, func() { must.Reject((&store{files: atomicfile.System()}).read(path))(t, "longer than 16777216 bytes") }, "a snapshot of 1 GiB")
}

// Bytes that decode as a snapshot encode to a snapshot that decodes to the same. If its stream can
// be resumed, its later lines have no NaN.
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
		v, err := decodeSnapshot(b)
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
