package recurrent_test

import (
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// Tokens outside the vocabulary are an error, from every call, and change neither a stream nor dst.
func TestUnknownTokens(t *testing.T) {
	cfg := variants()["tokens"]
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	s, other := net.NewStream(), net.NewStream()
	output(s.ProcessTokens([]int32{3, 1, 4}))
	before := string(s.Snapshot(nil))
	dst := []float32{1, 2, 3, 4, 5, 6}
	for _, test := range []struct {
		name string
		call func() error
		want string
	}{
		{"one", func() error { _, err := s.StepToken(-1); return err }, "recurrent: token 0 is -1, expected 0 to 10"},
		{"some", func() error { _, err := s.ProcessTokens([]int32{0, 10, 11}); return err }, "recurrent: token 2 is 11, expected 0 to 10"},
		{"many", func() error { return net.ProcessManyTokens(dst, []int32{0, 1 << 30}, 1, []*recurrent.Stream{other, s}) },
			"recurrent: token 1 is 1073741824, expected 0 to 10"},
	} {
		if err := test.call(); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, expected %s", test.name, err, test.want)
		}
	}
	must.Equal(t, string(s.Snapshot(nil)), before, "state after errors")
	must.Equal(t, other.Position(), 0, "position of the other stream")
	if !slices.Equal(dst, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("dst %v changed", dst)
	}
}

// Any tokens are processed or an error: the valid ones advance the stream by their number, and
// others leave it as it was.
func FuzzTokens(f *testing.F) {
	cfg := variants()["tokens"]
	cfg.NLayers = 1
	s := newNetwork(f, newModel(f, cfg, 1), 1).NewStream()
	f.Add([]byte{0, 10})
	f.Add([]byte{11})
	f.Add([]byte{3, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		ids, valid := make([]int32, len(b)), true
		for i, v := range b {
			ids[i] = int32(int8(v))
			valid = valid && ids[i] >= 0 && int(ids[i]) < cfg.DInput
		}
		if len(ids) == 0 {
			return
		}
		s.Reset()
		y, err := s.ProcessTokens(ids)
		if valid != (err == nil) || valid != (len(y) == cfg.DOutput) {
			t.Errorf("tokens %d: output %v, error %v", ids, y, err)
		}
		if err != nil {
			ids = nil
		}
		must.Equal(t, s.Position(), int64(len(ids)), "position")
	})
}
