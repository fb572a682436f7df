package recurrent

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// StepMany takes one sample of every stream, x [d_input][len(streams)], and writes what each stream's Step would have
// returned to dst [d_output][len(streams)], bit for bit. The streams may be at different positions. It costs less than a Step
// each, because the mixing layers are read once for many streams, whose samples fill the vectors. Where samples come in
// blocks, Process costs less still, because it reads a state once a block. It panics if a stream is of another network or
// given twice. Nothing is allocated.
func (n *Network) StepMany(dst, x []float32, streams []*Stream) {
	if n.embedding != nil {
		panic("recurrent: samples given to a network that reads tokens")
	}
	if len(x) != n.cfg.DInput*len(streams) {
		panic(fmt.Sprintf("recurrent: %d values for samples of %d channels of %d streams", len(x), n.cfg.DInput, len(streams)))
	}
	n.stepMany(dst, x, nil, streams)
}

// StepManyTokens is StepMany for a network that reads tokens, one of every stream.
func (n *Network) StepManyTokens(dst []float32, ids []int32, streams []*Stream) {
	if len(ids) != len(streams) {
		panic(fmt.Sprintf("recurrent: %d tokens for %d streams", len(ids), len(streams)))
	}
	n.checkTokens(ids)
	n.stepMany(dst, nil, ids, streams)
}

func (n *Network) stepMany(dst, x []float32, ids []int32, streams []*Stream) {
	if len(dst) != n.cfg.DOutput*len(streams) {
		panic(fmt.Sprintf("recurrent: room for %d answers: want %d of each of %d streams", len(dst), n.cfg.DOutput, len(streams)))
	}
	n.enter(streams)
	defer leave(streams)
	ws := n.borrow()
	defer n.giveBack(ws)
	for at := 0; at < len(streams); at += block {
		some := streams[at:min(at+block, len(streams))]
		if ids != nil {
			n.embed(ws, ids[at:at+len(some)])
		} else {
			n.encode(ws, x, len(streams), at, len(some))
		}
		n.advance(ws, some, 1)
		answers := vek.MatrixOf(dst, n.cfg.DOutput, len(streams)).Columns(at, at+len(some))
		n.answer(answers, ws, some, 1)
	}
}

// enter marks the streams as being advanced.
func (n *Network) enter(streams []*Stream) {
	for i, s := range streams {
		if s.net != n || s.entered {
			leave(streams[:i])
			panic(fmt.Sprintf("recurrent: stream %d is of another network, or given twice", i))
		}
		s.entered = true
	}
}

func leave(streams []*Stream) {
	for _, s := range streams {
		s.entered = false
	}
}

// advance runs the layers over ws.x, whose columns are t samples of each of some streams in turn, ending no later than
// the current block of any.
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
				n.layers[l].correct(n.layerState(s, l))
			}
			if n.blocks > 0 {
				s.turnWindow()
			}
		}
	}
}

// layerState returns a stream's state [re, im][H][M] of layer l, which has an SSM.
func (n *Network) layerState(s *Stream, l int) []float32 {
	perLayer := len(s.state) / n.cfg.CountSSM()
	return s.state[l*perLayer : (l+1)*perLayer]
}

// answer decodes, after advance, the mean of each stream or the last of its t columns of ws.x; dst is
// [d_output][len(streams)].
func (n *Network) answer(dst vek.Matrix, ws *workspace, streams []*Stream, t int) {
	pooled := vek.MatrixOf(ws.u, n.cfg.DModel, len(streams))
	for h := range pooled.Rows {
		row := pooled.Row(h)
		for i, s := range streams {
			if n.cfg.Pool == model.PoolMean {
				row[i] = float32((s.past[h] + s.sum[h]) / float64(s.pooled()))
			} else {
				row[i] = ws.x[(h*len(streams)+i+1)*t-1]
			}
		}
	}
	n.decoder.apply(dst, pooled, ws.gemm)
}
