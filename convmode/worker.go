package convmode

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// worker is the scratch memory of one worker.
type worker struct {
	act    []float32 // [H][width] activation output g
	out    []float32 // [H][width] block output y; in backward ∂g
	wide   []float32 // [2H][width] mixing z; in backward ∂z
	moment []float32 // [4][width] mean and rstd of an inference LayerNorm; sums of its backward
	gemm   []float32

	line    []float32    // one row, or one of a tile
	masked  [2][]float32 // [stride] rows whose padding is zeroed
	du      [2][]float32 // [stride] ∂u of two rows
	taps    [2][]float32 // a channel's kernels, or their gradients
	spectra [2][]float32 // a kernel's spectrum, and its gradient
	conv    []float32

	state, pole []float32 // [2P] state of a scan, ∂λ̄ of a chunk
	states      []float32 // [scanChunk][2P] gradients of the states of a chunk
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
			act: vek.Aligned(h * width), out: vek.Aligned(h * width), wide: vek.Aligned(2 * h * width),
			moment: vek.Aligned(4 * width),
			gemm:   vek.Aligned(n.gemmScratch(width)),
			line:   vek.Aligned(stride),
			masked: [2][]float32{vek.Aligned(stride), vek.Aligned(stride)},
		}
		if p := 2 * n.cfg.SSM.Modes(); n.cfg.SSM.MIMO() {
			n.workers[i].state = vek.Aligned(p)
			if n.opt.Training {
				n.workers[i].pole, n.workers[i].states = vek.Aligned(p), vek.Aligned(scanChunk*p)
			}
		}
		if n.opt.addsInputGrad(n.cfg) {
			n.workers[i].du = [2][]float32{vek.Aligned(stride), vek.Aligned(stride)}
		}
	}
}

// gemmScratch is the scratch length of the largest matrix product.
func (n *Net) gemmScratch(width int) int {
	h, rows, in, out := n.cfg.DModel, n.mixingRows(), n.cfg.DInput, n.cfg.DOutput
	compare := 0
	if p := n.opt.MaxBatch / 2; n.cfg.Pairs {
		compare = max(vek.GemmScratch(p, h, 4*h), vek.GemmScratch(h, 4*h, p), vek.GemmScratch(p, 4*h, h))
	}
	return max(
		compare, n.scanScratch(width), vek.GemmScratch(rows, width, h), vek.GemmScratch(rows, h, width), vek.GemmScratch(h, width, rows),
		vek.GemmScratch(h, width, in), vek.GemmScratch(channelBlock, in, n.opt.MaxLen),
		vek.GemmScratch(out, width, h), vek.GemmScratch(h, width, out), vek.GemmScratch(out, channelBlock, n.opt.MaxLen),
		vek.GemmScratch(n.opt.MaxBatch, out, h), vek.GemmScratch(n.opt.MaxBatch, h, out), vek.GemmScratch(out, h, n.opt.MaxBatch),
	)
}

// growWorkers enlarges the workers' scratch for a plan.
func (n *Net) growWorkers(p *plan) {
	grow := func(buf *[]float32, length int) {
		if len(*buf) < length {
			*buf = vek.Aligned(length)
		}
	}
	if p.conv == nil {
		return
	}
	spectrum := p.conv.SpectrumLen()
	for i := range n.workers {
		ws := &n.workers[i]
		for dir := range n.cfg.SSM.Directions() {
			grow(&ws.taps[dir], p.taps)
		}
		grow(&ws.spectra[0], spectrum)
		grow(&ws.spectra[1], spectrum)
		grow(&ws.conv, p.scratch)
	}
	if n.opt.keepsSpectra() {
		for i := range n.cfg.CountSSM() {
			grow(&n.layers[i].spectra, n.cfg.DModel*spectrum)
		}
	}
}
