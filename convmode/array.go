package convmode

import "github.com/s4d-fast/s4d-fast/internal/vek"

// lineFloats is the number of floats in a cache line. Rows start at multiples of it.
const lineFloats = 16

// array is [batch][rows][stride] float32. Its rows start on cache lines, an odd number of lines
// apart. With a stride of a power of two, the rows of a tile would map to a few sets of the cache.
//
// A tiled array is [batch][tile][rows][width] instead. Its tiles are contiguous, so they are read
// and written faster, but a row over the whole length is not contiguous.
type array struct {
	data         []float32
	rows, stride int
	tiled        bool
}

func newArray(batch, rows, length int) array {
	stride := rowStride(length)
	return array{data: vek.Aligned(batch * rows * stride), rows: rows, stride: stride}
}

func rowStride(length int) int { return ((length+lineFloats-1)/lineFloats | 1) * lineFloats }

// row returns the first length positions of channel h of sequence b.
func (a array) row(b, h, length int) []float32 {
	at := (b*a.rows + h) * a.stride
	return a.data[at : at+length]
}

// tile returns positions [lo, hi) of all channels of sequence b.
func (a array) tile(b int, s span) vek.Matrix {
	if a.tiled {
		return vek.MatrixOf(a.data[(b*a.stride+s.lo)*a.rows:], a.rows, s.hi-s.lo)
	}
	return a.channels(b, 0, a.rows).Columns(s.lo, s.hi)
}

// prefetchAhead is the number of rows of a tile by which prefetches run ahead.
const prefetchAhead = 2

// prefetchRow prefetches row r of a tile, unless r is past the last row.
func prefetchRow(tile vek.Matrix, r int) {
	if r < tile.Rows {
		vek.Prefetch(tile.Row(r))
	}
}

// channels returns channels [lo, hi) of sequence b, including the unused positions at the end of
// each row.
func (a array) channels(b, lo, hi int) vek.Matrix {
	return vek.MatrixOf(a.data[(b*a.rows+lo)*a.stride:], hi-lo, a.stride)
}
