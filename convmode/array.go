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

// activations are the arrays that a forward pass writes. In training each has its own memory, which
// Backward reads. In inference they share two arrays.
type activations struct {
	x []array // [NLayers+1] x_i: input of block i; the last is the output of the last block
	u []array // [NLayers+1] u_i = entry norm of x_i, or x_i; the last is the pool's input
	v []array // [NLayers] convolution output + D·u; Backward overwrites it
	z []array // [NLayers] [2H or H] mixing before the gate; no memory in inference
	s []array // [NLayers] residual sum before the exit norm (x_{i+1} itself without one)
}

func (n *Net) newActivations() {
	fresh := func(rows int) array { return newArray(n.opt.MaxBatch, rows, n.opt.MaxLen) }
	tiled := func(rows int) array {
		a := fresh(rows)
		a.tiled = true
		return a
	}
	h := n.cfg.DModel
	if !n.opt.Training {
		n.infer = n.sharedActivations(fresh(h), fresh(h))
		return
	}
	k := &n.keep
	for i := range n.entry {
		if i > 0 {
			out := fresh(h)
			sum := out
			switch {
			case n.exit[i-1] == nil:
			case n.batchNorm(): // reads whole rows
				sum = fresh(h)
			default:
				sum = tiled(h)
			}
			k.x, k.s = append(k.x, out), append(k.s, sum)
			k.v = append(k.v, fresh(h))
			if n.cfg.Gated() {
				k.z = append(k.z, tiled(n.mixingRows()))
			}
		} else {
			k.x = append(k.x, fresh(h))
		}
		in := k.x[i]
		if n.entry[i] != nil {
			in = fresh(h)
		}
		k.u = append(k.u, in)
	}
	n.infer = n.sharedActivations(k.x[0], k.v[0])
	n.grad = fresh(h)
}

// sharedActivations maps all arrays of an inference pass to two: one for x, the other for v, and
// for u where a norm makes it differ from x.
func (n *Net) sharedActivations(x, v array) (a activations) {
	for i := range n.entry {
		u := x
		if n.entry[i] != nil {
			u = v
		}
		a.x, a.u = append(a.x, x), append(a.u, u)
		a.v, a.s = append(a.v, v), append(a.s, x)
	}
	return a
}
