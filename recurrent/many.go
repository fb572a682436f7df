package recurrent

import (
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// StepMany takes one sample of every stream, x [d_input][len(streams)], and writes to dst
// [d_output][len(streams)] what each stream's Step would have returned, bit for bit. It is
// ProcessMany for one sample.
func (n *Network) StepMany(dst, x []float32, streams []*Stream) { n.ProcessMany(dst, x, 1, streams) }

// ProcessMany takes t ≥ 1 samples of every stream, x [d_input][len(streams)][t], and writes to dst
// [d_output][len(streams)] what each stream's Process would have returned, bit for bit. With pool
// none, dst is [d_output][len(streams)][t]. The streams may be at different positions. It allocates
// nothing.
//
// For t ≤ 32 it is cheaper than calling Process on each stream, because it reads the mixing layers
// once for many streams, and samples of several streams fill the vectors. Larger t cost less per
// sample, because a stream's state passes through the caches once per call, and again every 64
// samples. If a delay of a few samples is acceptable, collect that many samples per call. A stream
// that passes a multiple of 64 samples within the call is processed alone.
//
// It panics if a stream is given twice or is of another network.
func (n *Network) ProcessMany(dst, x []float32, t int, streams []*Stream) {
	n.checkSamples(x, t, len(streams))
	positions := len(streams)
	if n.cfg.Pool == model.PoolNone {
		positions *= t
	}
	if len(dst) != n.cfg.DOutput*positions {
		panic(fmt.Sprintf("recurrent: dst has %d values, expected %d outputs at %d positions", len(dst), n.cfg.DOutput, positions))
	}
	for i, s := range streams {
		if s.net != n {
			panic(fmt.Sprintf("recurrent: stream %d is of another network", i))
		}
		s.place = i
	}
	for i, s := range streams {
		if s.place != i {
			panic(fmt.Sprintf("recurrent: streams %d and %d are the same stream", i, s.place))
		}
	}
	n.process(dst, x, nil, t, streams)
}

// checkSamples panics unless t ≥ 1 and x has t samples of each stream.
func (n *Network) checkSamples(x []float32, t, streams int) {
	if n.embedding != nil {
		panic("recurrent: samples for a network that reads tokens")
	}
	if t < 1 {
		panic(fmt.Sprintf("recurrent: %d samples, expected at least 1", t))
	}
	if len(x) != n.cfg.DInput*streams*t {
		panic(fmt.Sprintf("recurrent: x has %d values, expected %d: %d channels of %d streams with %d samples", len(x), n.cfg.DInput*streams*t, n.cfg.DInput, streams, t))
	}
}

// process takes t samples x, or tokens ids, of each stream. It processes streams together if none
// of them passes the end of its current block. Otherwise it processes one stream at a time, block
// by block.
func (n *Network) process(dst, x []float32, ids []int32, t int, streams []*Stream) {
	ws := n.acquire()
	defer n.release(ws)
	columns := len(streams) * t
	for first := 0; first < len(streams); {
		group := streams[first : first+groupSize(streams[first:], t)]
		for at := 0; at < t; {
			run := t - at
			if len(group) == 1 {
				run = min(run, blockSamples-int(group[0].position%blockSamples))
			}
			lo, hi := first*t+at, first*t+at+len(group)*run
			if ids != nil {
				n.embed(ws, ids[lo:hi])
			} else {
				n.encode(ws, x, columns, lo, hi-lo)
			}
			n.advance(ws, group, run)
			at += run
			if n.cfg.Pool == model.PoolNone {
				out := vek.MatrixOf(dst, n.cfg.DOutput, columns).Columns(lo, hi)
				n.output(out, vek.MatrixOf(ws.x, n.cfg.DModel, hi-lo), ws)
			} else if at == t {
				out := vek.MatrixOf(dst, n.cfg.DOutput, len(streams)).Columns(first, first+len(group))
				n.decode(out, ws, group, run)
			}
		}
		first += len(group)
	}
}

// groupSize returns the number of streams, at least 1, that can take t samples in one pass over the
// layers: all samples fit in a workspace, and none passes the end of its stream's current block.
func groupSize(streams []*Stream, t int) (count int) {
	for _, s := range streams {
		if (count+1)*t > blockSamples || int(s.position%blockSamples)+t > blockSamples {
			break
		}
		count++
	}
	return max(count, 1)
}

// advance runs the layers over ws.x, whose columns are t samples of each stream in turn. The
// samples end no later than the current block of any stream.
func (n *Network) advance(ws *workspace, streams []*Stream, t int) {
	n.forward(ws, streams, t)
	columns := len(streams) * t
	for i, s := range streams {
		for k, sum := range s.sum {
			row := ws.x[k%n.cfg.DModel*columns+i*t:][:t]
			switch {
			case k < n.cfg.DModel:
				for _, x := range row {
					sum += float64(x)
				}
			case s.position == 0:
				sum = float64(slices.Max(row))
			default:
				sum = max(sum, float64(slices.Max(row)))
			}
			s.sum[k] = sum
		}
		s.position += int64(t)
		if s.position%blockSamples == 0 {
			for l := range n.cfg.CountSSM() {
				n.layers[l].recurrence.correct(n.layerState(s, l))
			}
			if n.blocks > 0 {
				s.window.push(s.sum, s.position)
				clear(s.sum)
			}
		}
	}
}

// layerState returns a stream's state of SSM layer l.
func (n *Network) layerState(s *Stream, l int) []float32 {
	size := n.layers[l].recurrence.stateLen() // the same in all layers
	return s.state[l*size : (l+1)*size]
}

// decode writes the decoder's output for each stream to dst [d_output][len(streams)], after
// advance. The decoder's input is the mean over positions, with pool mean-max plus the maximum, or,
// with pool last, the last of the stream's t columns of ws.x.
func (n *Network) decode(dst vek.Matrix, ws *workspace, streams []*Stream, t int) {
	pooled := vek.MatrixOf(ws.u, n.cfg.DModel, len(streams))
	for i, s := range streams {
		if n.cfg.Pool == model.PoolLast {
			for h := range pooled.Rows {
				pooled.Data[h*len(streams)+i] = ws.x[(h*len(streams)+i+1)*t-1]
			}
			continue
		}
		past, cycle := s.window.sums(s.position)
		count := float64(s.pooled())
		for h, sum := range s.sum[:n.cfg.DModel] {
			if past != nil {
				sum += past[h] + cycle[h]
			}
			mean := sum / count
			if n.cfg.Pool == model.PoolMeanMax {
				mean += s.sum[n.cfg.DModel+h]
			}
			pooled.Data[h*len(streams)+i] = float32(mean)
		}
	}
	n.output(dst, pooled, ws)
}
