package recurrent

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// StepMany takes one sample of every stream, x [d_input][len(streams)], and writes to dst
// [d_output][len(streams)] what each stream's Step would have returned, bit for bit. The streams
// may be at different positions. It allocates nothing.
//
// It costs less than a Step of each stream, because the mixing layers are read once for many
// streams, whose samples fill the vectors. Where samples arrive in blocks, Process costs less
// still, because it reads a stream's state once per block.
//
// It panics if a stream is of another network or is given twice.
func (n *Network) StepMany(dst, x []float32, streams []*Stream) {
	if n.embedding != nil {
		panic("recurrent: samples for a network that reads tokens")
	}
	if len(x) != n.cfg.DInput*len(streams) {
		panic(fmt.Sprintf("recurrent: x has %d values, expected %d channels of %d streams", len(x), n.cfg.DInput, len(streams)))
	}
	n.stepMany(dst, x, nil, streams)
}

// StepManyTokens is StepMany for a network that reads tokens: one token of every stream. The error
// is that of Stream.ProcessTokens; no stream has advanced then, and dst is unchanged.
func (n *Network) StepManyTokens(dst []float32, ids []int32, streams []*Stream) error {
	if len(ids) != len(streams) {
		panic(fmt.Sprintf("recurrent: %d tokens for %d streams", len(ids), len(streams)))
	}
	if err := n.checkTokens(ids); err != nil {
		return err
	}
	n.stepMany(dst, nil, ids, streams)
	return nil
}

func (n *Network) stepMany(dst, x []float32, ids []int32, streams []*Stream) {
	if len(dst) != n.cfg.DOutput*len(streams) {
		panic(fmt.Sprintf("recurrent: dst has %d values, expected %d outputs of %d streams", len(dst), n.cfg.DOutput, len(streams)))
	}
	n.mark(streams)
	defer unmark(streams)
	ws := n.acquire()
	defer n.release(ws)
	for at := 0; at < len(streams); at += block {
		some := streams[at:min(at+block, len(streams))]
		if ids != nil {
			n.embed(ws, ids[at:at+len(some)])
		} else {
			n.encode(ws, x, len(streams), at, len(some))
		}
		n.advance(ws, some, 1)
		outputs := vek.MatrixOf(dst, n.cfg.DOutput, len(streams)).Columns(at, at+len(some))
		n.decode(outputs, ws, some, 1)
	}
}

// mark marks the streams as being advanced, to detect one that is given twice.
func (n *Network) mark(streams []*Stream) {
	for i, s := range streams {
		if s.net != n || s.marked {
			unmark(streams[:i])
			panic(fmt.Sprintf("recurrent: stream %d is of another network or is given twice", i))
		}
		s.marked = true
	}
}

func unmark(streams []*Stream) {
	for _, s := range streams {
		s.marked = false
	}
}

// advance runs the layers over ws.x, whose columns are t samples of each stream in turn. The
// samples end no later than the current block of any stream.
func (n *Network) advance(ws *workspace, streams []*Stream, t int) {
	n.forward(ws, streams, t)
	columns := len(streams) * t
	for i, s := range streams {
		for h, sum := range s.sum {
			for _, x := range ws.x[h*columns+i*t : h*columns+(i+1)*t] {
				sum += float64(x)
			}
			s.sum[h] = sum
		}
		s.position += int64(t)
		if s.position%block == 0 {
			for l := range n.cfg.CountSSM() {
				n.layers[l].correctPhase(n.layerState(s, l))
			}
			if n.blocks > 0 {
				s.window.push(s.sum, s.position)
				clear(s.sum)
			}
		}
	}
}

// layerState returns a stream's state [re, im][H][M] of SSM layer l.
func (n *Network) layerState(s *Stream, l int) []float32 {
	perLayer := len(s.state) / n.cfg.CountSSM()
	return s.state[l*perLayer : (l+1)*perLayer]
}

// decode writes the decoder's output to dst [d_output][len(streams)], after advance: for each
// stream that of the mean over positions, or of the last of its t columns of ws.x.
func (n *Network) decode(dst vek.Matrix, ws *workspace, streams []*Stream, t int) {
	pooled := vek.MatrixOf(ws.u, n.cfg.DModel, len(streams))
	for i, s := range streams {
		if n.cfg.Pool != model.PoolMean {
			for h := range pooled.Rows {
				pooled.Data[h*len(streams)+i] = ws.x[(h*len(streams)+i+1)*t-1]
			}
			continue
		}
		past, cycle := s.window.sums(s.position)
		count := float64(s.pooled())
		for h, sum := range s.sum {
			if past != nil {
				sum += past[h] + cycle[h]
			}
			pooled.Data[h*len(streams)+i] = float32(sum / count)
		}
	}
	n.output(dst, pooled, ws)
}
