package audio

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// source delivers samples, at most so many a read, and then its error.
type source struct {
	samples []float32
	most    int
	err     error
	taken   int
}

func (s *source) Read(dst []float32) (int, error) {
	n := copy(dst[:min(len(dst), s.most)], s.samples[s.taken:])
	s.taken += n
	if s.taken == len(s.samples) {
		return n, s.err
	}
	return n, nil
}

var _ Source = (*ResampleReader)(nil)

func TestReader(t *testing.T) {
	broken := errors.New("truncated")
	eachPair(t, func(t *testing.T, from, to int) {
		x := noise(20, 7001)
		want := convert(t, from, to, x)
		for _, size := range []int{1, 17, 4000, 1 << 17} {
			for _, end := range []error{io.EOF, broken} {
				src := &source{samples: x, most: size, err: end}
				r, err := NewResampleReader(src, from, to)
				must.Do(t, err)
				var got []float32
				buf := make([]float32, size)
				n := size
				for err == nil {
					if n != size {
						t.Fatalf("a read of %d gave %d and no error", size, n)
					}
					n, err = r.Read(buf)
					got = append(got, buf[:n]...)
				}
				must.Equal(t, err, end, "reads of %d: error", size)
				if !slices.Equal(got, want) {
					t.Errorf("reads of %d: %d samples, expected the %d of one call", size, len(got), len(want))
				}
				if n, err := r.Read(buf); n != 0 || err != end {
					t.Errorf("after the end: %d samples and error %v", n, err)
				}
			}
		}
	})
}

// A reader takes no more from its source than the outputs need, since the rest may arrive hours
// later.
func TestReaderDoesNotReadAhead(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to int) {
		src := &source{samples: noise(21, 40000), most: 40000, err: io.EOF}
		r := must.Get(NewResampleReader(src, from, to))(t)
		buf := make([]float32, 10)
		for k := 10; k < 2000; k += 10 {
			must.Get(r.Read(buf))(t)
			if want := (k-1)*from/to + 1 + r.r.ahead; src.taken > want {
				t.Fatalf("%d outputs took %d inputs, expected %d", k, src.taken, want)
			}
		}
	})
}

func TestReaderAllocatesNothing(t *testing.T) {
	src := &source{samples: noise(22, 1<<20), most: 1000, err: io.EOF}
	r := must.Get(NewResampleReader(src, 44100, 48000))(t)
	buf := make([]float32, 4800)
	must.Equal(t, testing.AllocsPerRun(100, func() { r.Read(buf) }), 0, "allocations")
}
