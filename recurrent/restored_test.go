package recurrent_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// smallNetwork returns a network whose stream has 4 states, float32, and with the window 8 sums,
// float64, and a snapshot of a stream that has passed n samples.
func smallNetwork(t testing.TB, n int) (*recurrent.Network, []byte) {
	t.Helper()
	cfg := baseConfig()
	cfg.DModel, cfg.NLayers, cfg.SSM.DModel, cfg.SSM.DState = 2, 1, 2, 2
	net := must.Get(recurrent.New(newModel(t, cfg, 1), recurrent.Options{Window: 100}))(t)
	s := net.NewStream()
	s.Process(signal(1, cfg.DInput, n), n)
	return net, s.Snapshot(nil)
}

// stateAt and sumsAt are the offsets of the states and of the sums in a snapshot of a smallNetwork.
const stateAt, sumsAt = 84, 84 + 4*4

// largestValue returns the largest value of a snapshot's state, or NaN if one is NaN.
func largestValue(b []byte) float64 {
	largest := 0.0
	for at := stateAt; at < sumsAt; at += 4 {
		largest = max(largest, math.Abs(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[at:])))))
	}
	for at := sumsAt; at < len(b)-4; at += 8 {
		largest = max(largest, math.Abs(math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))))
	}
	return largest
}

// checkContinues processes samples from a snapshot that Restore accepts, whose state is finite. The
// outputs are the same however the samples are divided into calls. They are finite unless the state
// is so large that squares overflow. In that case the output shows it.
func checkContinues(t *testing.T, net *recurrent.Network, b []byte) {
	t.Helper()
	state := largestValue(b)
	if state-state != 0 {
		t.Fatalf("snapshot %x: accepted with the value %v", b, state)
	}
	const n = 200
	one, steps := net.NewStream(), net.NewStream()
	must.Do(t, one.Restore(b))
	must.Do(t, steps.Restore(b))
	x := signal(2, 2, n)
	got := one.Process(x, n)
	var want []float32
	for i := range n {
		want = steps.Process([]float32{x[i], x[n+i]}, 1)
	}
	finite := true
	for o, v := range got {
		finite = finite && v-v == 0
		if v != want[o] && (v-v == 0 || want[o]-want[o] == 0) {
			t.Errorf("snapshot %x: output %d is %v, and %v sample by sample", b, o, v, want[o])
		}
	}
	if !finite && state < 1e15 {
		t.Errorf("snapshot %x: output %v of a state of at most %v", b, got, state)
	}
}

// Each word of a snapshot is overwritten, under a correct checksum. Either the snapshot is
// rejected, or its stream continues.
func TestOverwrittenSnapshot(t *testing.T) {
	net, b := smallNetwork(t, 200)
	accepted, rejected := 0, 0
	for at := 12; at+4 < len(b); at += 4 {
		for _, word := range []uint32{0, 1, 0x3f800000, 0x7f800000, 0x7fc00000, 0xff800000, 0x7ff80000, 0x7fffffff, 0xffffffff} {
			edited := bytes.Clone(b)
			binary.LittleEndian.PutUint32(edited[at:], word)
			edited = signed(edited)
			if net.NewStream().Restore(edited) != nil {
				rejected++
				continue
			}
			accepted++
			checkContinues(t, net, edited)
		}
	}
	must.Equal(t, fmt.Sprint(accepted > 0, rejected > 0), "true true", "some snapshots accepted, and some rejected")
}

// Sizes in a forged snapshot, with a correct checksum, cost no more memory than the stream's own.
func TestReaderBounds(t *testing.T) {
	net, b := smallNetwork(t, 70)
	s := net.NewStream()
	must.HugeNumbers(t, len(b)+1<<16, b, func(b []byte) { _ = s.Restore(signed(b)) })
	long := append(b, make([]byte, 16<<20)...)
	must.Allocates(t, 1<<16, func() { _ = s.Restore(long) }, "a long snapshot")
}

// Bytes with a correct checksum are rejected and change nothing, or they are the snapshot of the
// stream that they restore, which continues.
// To fuzz: go test -fuzz=FuzzRestore -fuzzminimizetime=1s ./recurrent
func FuzzRestore(f *testing.F) {
	for _, n := range []int{1, 200} {
		_, b := smallNetwork(f, n)
		f.Add(b)
	}
	net, before := smallNetwork(f, 70)
	s := net.NewStream()
	f.Fuzz(func(t *testing.T, b []byte) {
		b = signed(b)
		must.Do(t, s.Restore(before))
		want := b
		if err := s.Restore(b); err != nil {
			want = before
		}
		if got := s.Snapshot(nil); !bytes.Equal(got, want) {
			t.Errorf("snapshot %x, expected %x", got, want)
		}
		checkContinues(t, net, want)
	})
}
