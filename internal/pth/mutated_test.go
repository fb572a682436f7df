package pth

import (
	"os"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A mutated checkpoint of PyTorch is an error or whole tensors, whichever part of the zip archive
// is mutated.
func TestMutatedCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of files take minutes under emulation")
	}
	const promise = "a mutated PyTorch checkpoint is an error or whole tensors, with bounded memory"
	held := func(b []byte) bool {
		tensors, err := Parse(b)
		for _, x := range tensors {
			n := 1
			for _, d := range x.Shape {
				n *= d
			}
			if err == nil && n != len(x.Data) {
				return false
			}
		}
		return true
	}
	// With right checksums of the zip file, so that the mutated pickle is read.
	pickle := []byte(whole(dict(text("a"), vector("FloatStorage", "0", 3), text("b"), vector("DoubleStorage", "1", 4))))
	must.Mutate(t, promise, 4<<20, pickle, func(b []byte) bool { return held(checkpoint(t, string(b), floats(1, 2, 3), doubles(1, 2, 3, 4))) })
	for _, file := range [][]byte{
		checkpoint(t, whole(dict(text("a"), vector("FloatStorage", "0", 3), text("b"), vector("DoubleStorage", "1", 4))), floats(1, 2, 3), doubles(1, 2, 3, 4)),
		must.Get(os.ReadFile("../golden/testdata/train-tiny-prenorm.pth"))(t),
	} {
		must.Get(Parse(file))(t)
		must.Mutate(t, "a mutated PyTorch checkpoint is an error or whole tensors, with bounded memory", 4<<20, file, func(b []byte) bool {
			tensors, err := Parse(b)
			if err != nil {
				return true
			}
			for _, x := range tensors {
				n := 1
				for _, d := range x.Shape {
					n *= d
				}
				if n != len(x.Data) {
					return false
				}
			}
			return true
		})
	}
}
