package snapshot

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

const magic = "S4DTESTS"

func frame(body string) []byte {
	const before = "earlier content"
	return End(append(Begin([]byte(before), magic, 3), body...), len(before))[len(before):]
}

// Open returns the body. Every truncation and every changed bit is an error.
func TestOpen(t *testing.T) {
	for _, body := range []string{"", "the state"} {
		b := frame(body)
		must.Equal(t, len(b), Overhead+len(body), "bytes")
		must.Equal(t, string(must.Get(Open(b, magic, 3))(t)), body, "body")
		for n := range b {
			if _, err := Open(b[:n], magic, 3); err == nil {
				t.Errorf("%d of %d bytes: no error", n, len(b))
			}
		}
		for i := range 8 * len(b) {
			damaged := bytes.Clone(b)
			damaged[i/8] ^= 1 << (i % 8)
			if _, err := Open(damaged, magic, 3); err == nil {
				t.Errorf("bit %d: no error", i)
			}
		}
	}
	must.Reject(Open(frame(""), "S4DOTHER", 3))(t, `does not begin with "S4DOTHER"`)
	must.Reject(Open(frame(""), magic, 4))(t, "format version 3, this program reads version 4")
}

func TestLevel(t *testing.T) {
	must.Equal(t, strings.TrimRight(string(must.Get(binary.Append(nil, binary.LittleEndian, CurrentLevel()))(t)), "\x00"), string(vek.CurrentLevel()), "level in a snapshot")
	must.Fail(t, Level([]byte("abacus\x00\x00")).Mismatch(), `"abacus"`, string(vek.CurrentLevel()), "set S4D_LEVEL=abacus")
}
