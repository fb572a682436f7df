package recurrent_test

import (
	"bytes"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// Bytes with a correct checksum are rejected and change nothing, or they are the snapshot of the
// stream that they restore, which continues.
// To fuzz: go test -fuzz=FuzzRestore -fuzzminimizetime=1s ./recurrent
func FuzzRestore(f *testing.F) {
	cfg := baseConfig()
	cfg.DModel, cfg.NLayers, cfg.SSM.DModel, cfg.SSM.DState = 2, 1, 2, 2
	net := must.Get(recurrent.New(newModel(f, cfg, 1), recurrent.Options{Window: 100}))(f)
	for _, n := range []int{1, 200} {
		s := net.NewStream()
		s.Process(signal(1, cfg.DInput, n), n)
		f.Add(s.Snapshot(nil))
	}
	x := signal(2, cfg.DInput, 200)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := net.NewStream()
		b, want := signed(b), s.Snapshot(nil)
		if s.Restore(b) == nil {
			want = b
		}
		if got := s.Snapshot(nil); !bytes.Equal(got, want) {
			t.Errorf("snapshot %x, expected %x", got, want)
		}
		s.Process(x, 200)
	})
}
