package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// worker is the scratch memory of one worker.
type worker struct {
	act    []float32 // [H][stride] activation output g
	out    []float32 // [H][stride] block output y; in backward ∂g
	wide   []float32 // [2H][stride] mixing z; in backward ∂z
	moment []float32 // [4][width] mean and rstd of an inference LayerNorm; sums of its backward
	gemm   []float32
	ahead  []vek.Matrix // what the worker probably reads next, in backwardTiles

	line    []float32    // one row, or one of a tile
	masked  [2][]float32 // [stride] rows whose padding is zeroed
	du      [2][]float32 // [stride] ∂u of two rows
	taps    []float32    // [directions][taps] a channel's kernels, unless training keeps all
	spectra [2][]float32 // a kernel's spectrum, and its gradient
	conv    []float32

	state, pole []float32 // [2P] state of a scan, ∂λ̄ of a chunk
	states      []float32 // [scanChunk][2P] gradients of the states of a chunk
}

// scratchTile views a tile in a worker's memory. Its stride is that of an array, so that products
// can read it where it is.
func scratchTile(buf []float32, rows, width int) vek.Matrix {
	return vek.MatrixOf(buf, rows, rowStride(width)).Columns(0, width)
}

// addsInputGrad reports whether ∂u of a block is only added to the gradient of its input, because
// no norm is between them.
func (o Options) addsInputGrad(c model.Config) bool {
	return o.Training && (c.Norm == model.NormNone || !c.PreNorm)
}

func (n *Net) newWorkers() {
	h, width := n.cfg.DModel, tileWidth(n.cfg.DModel)
	stride := max(rowStride(n.opt.MaxLen), width)
	n.workers = make([]worker, n.opt.Workers)
	for i := range n.workers {
		n.workers[i] = worker{
			act: vek.Aligned(h * rowStride(width)), out: vek.Aligned(h * rowStride(width)), wide: vek.Aligned(2 * h * rowStride(width)),
			moment: vek.Aligned(4 * width),
			gemm:   vek.Aligned(n.gemmScratch(width)),
			ahead:  make([]vek.Matrix, 0, 3),
			line:   vek.Aligned(stride),
			masked: [2][]float32{vek.Aligned(stride), vek.Aligned(stride)},
		}
		if width := 2 * n.cfg.SSM.Modes(); n.cfg.SSM.MIMO() {
			n.workers[i].state = vek.Aligned(width)
			if n.opt.Training {
				n.workers[i].pole, n.workers[i].states = vek.Aligned(width), vek.Aligned(scanChunk*width)
			}
		}
		if n.opt.addsInputGrad(n.cfg) {
			n.workers[i].du = [2][]float32{vek.Aligned(stride), vek.Aligned(stride)}
		}
	}
}

// gemmScratch is the scratch length of the largest matrix product.
func (n *Net) gemmScratch(width int) int {
	h, rows, in, out := n.cfg.DModel, n.cfg.MixingRows(), n.cfg.DInput, n.cfg.DOutput
	compare := 0
	if count := n.opt.MaxBatch / 2; n.cfg.Pairs {
		compare = max(vek.GemmScratch(count, h, 4*h), vek.GemmScratch(h, 4*h, count), vek.GemmScratch(count, 4*h, h))
	}
	return max(
		compare, n.scanScratch(width), vek.GemmScratch(rows, width, h), vek.GemmScratch(rows, h, width), vek.GemmScratch(h, width, rows),
		vek.GemmScratch(h, width, in), vek.GemmScratch(channelBlock, in, n.opt.MaxLen),
		vek.GemmScratch(out, width, h), vek.GemmScratch(h, width, out), vek.GemmScratch(out, channelBlock, n.opt.MaxLen),
		vek.GemmScratch(n.opt.MaxBatch, out, h), vek.GemmScratch(n.opt.MaxBatch, h, out), vek.GemmScratch(out, h, n.opt.MaxBatch),
	)
}

// growWorkers enlarges the workers' scratch for a plan.
func (n *Net) growWorkers(pl *plan) {
	grow := func(buf *[]float32, length int) {
		if len(*buf) < length {
			*buf = vek.Aligned(length)
		}
	}
	if pl.conv == nil {
		return
	}
	spectrum := pl.conv.SpectrumLen()
	for i := range n.workers {
		ws := &n.workers[i]
		if !n.opt.Training {
			grow(&ws.taps, n.cfg.SSM.Directions()*pl.taps)
		}
		grow(&ws.spectra[0], spectrum)
		grow(&ws.spectra[1], spectrum)
		grow(&ws.conv, pl.scratch)
	}
	for _, bk := range n.blocks {
		c, ok := bk.sequence.(*convolution)
		switch {
		case ok && n.opt.Fixed:
			grow(&c.spectra, n.cfg.DModel*spectrum)
		case ok && n.opt.Training:
			grow(&c.kernels, n.cfg.DModel*n.cfg.SSM.Directions()*pl.taps)
		}
	}
}
