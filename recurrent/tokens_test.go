package recurrent_test

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Tokens outside the vocabulary are an error, from every call, and leave the stream as it was.
func TestUnknownTokens(t *testing.T) {
	cfg := variants()["tokens"]
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	s := net.NewStream()
	output(s.ProcessTokens([]int32{3, 1, 4}))
	before := string(s.Snapshot(nil))
	for _, test := range []struct {
		name string
		call func() error
		want string
	}{
		{"one", func() error { _, err := s.ProcessTokens([]int32{-1}); return err }, "recurrent: token 0 is -1, expected 0 to 10"},
		{"some", func() error { _, err := s.ProcessTokens([]int32{0, 10, 11}); return err }, "recurrent: token 2 is 11, expected 0 to 10"},
	} {
		if err := test.call(); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, expected %s", test.name, err, test.want)
		}
	}
	must.Equal(t, string(s.Snapshot(nil)), before, "state after errors")
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
