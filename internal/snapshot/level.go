package snapshot

import (
	"bytes"
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// LevelBytes is the length of a kernel level in a snapshot: its name, padded with zeros.
const LevelBytes = 8

// AppendLevel appends the kernel level in use.
func AppendLevel(dst []byte) []byte {
	var name [LevelBytes]byte
	copy(name[:], vek.CurrentLevel())
	return append(dst, name[:]...)
}

// CheckLevel returns an error if a level that AppendLevel wrote is not the one in use.
func CheckLevel(name []byte) error {
	level, now := bytes.TrimRight(name[:LevelBytes], "\x00"), vek.CurrentLevel()
	if string(level) == string(now) {
		return nil
	}
	return fmt.Errorf("taken at kernel level %q, this program runs at %q, which rounds differently; set S4D_LEVEL=%[1]s", level, now)
}
