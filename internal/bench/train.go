package bench

import (
	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// shape is a network and its batch.
type shape struct {
	layer                           ssm.Layer
	h, modes, length, batch, layers int
}

// op returns the name of an operation on a network with this kind of layer.
func (s shape) op(name string) string {
	if s.layer == ssm.LayerS4D {
		return name
	}
	return name + "-" + string(s.layer)
}

// config returns the network. S4D has the poles of S4D-Lin, the others those of HiPPO-LegS or, in
// the LRU, of a ring.
func (s shape) config() model.Config {
	c := model.Default()
	c.DModel, c.NLayers = s.h, s.layers
	c.SSM.DState, c.SSM.Init = 2*s.modes, ssm.Lin
	if s.layer != ssm.LayerS4D {
		c.SSM.Layer, c.SSM.Init = s.layer, ssm.LegS
	}
	switch s.layer {
	case ssm.LayerDSS:
		c.SSM.TrainB = true
	case ssm.LayerS4:
		c.SSM.Disc = ssm.Bilinear
	case ssm.LayerLRU:
		c.SSM.Init, c.SSM.DState, c.SSM.RMax = ssm.Ring, s.modes, 0.999
	}
	if c.SSM.FixedLength() {
		c.SSM.LKernel = s.length
	}
	return c
}

// trainOf is one training step without dropout: forward, loss, backward and AdamW.
func trainOf(s shape) workload {
	return workload{
		op: s.op("train"), Sizes: Sizes{H: s.h, M: s.modes, L: s.length, B: s.batch, Layers: s.layers},
		units: 1, flops: s.flops(), sequences: float64(s.batch), shared: true,
		start: func(threads int) engine {
			c := s.config()
			c.DInput, c.DOutput = 3, 10 // colour images as sequences of pixels, in ten classes
			t := valid(NewTraining(c, s.batch, s.length, threads))
			return engine{run: func(n int) { repeat(t.Step, n) }, stop: t.Close}
		},
	}
}

// flops counts the main operations of a step per layer: three products with the mixing matrix
// [2H][H], and the SSM. A convolution has five transforms and three products of spectra per pair of
// rows, two transforms per kernel, and kernels forward and backward. S5 and the LRU have three
// products with B and three with C, and three complex multiply-adds per mode and position: the
// scan, its adjoint and the gradient of the poles.
func (s shape) flops() float64 {
	h, m, l, b := float64(s.h), float64(s.modes), float64(s.length), float64(s.batch)
	mixing := 3 * 2 * 2 * h * h * l * b
	if s.config().SSM.MIMO() {
		return float64(s.layers) * (mixing + (6*2*2*m*h+3*scanFlops*m)*l*b)
	}
	transform := transformFlops(2 * s.length)
	convolution := h * (b/2*(5*transform+3*6*2*l) + 2*transform)
	return float64(s.layers) * (mixing + convolution + h*s.kernelFlops())
}

// kernelFlops counts the operations of a channel's kernel and of its gradient.
func (s shape) kernelFlops() float64 {
	if s.layer == ssm.LayerS4 {
		return cauchyFlops(cauchySums, s.modes, s.length) + cauchyFlops(cauchyGrad, s.modes, s.length)
	}
	return 3 * 4 * float64(s.modes) * float64(s.length)
}

// Operations per mode: of vek.CauchySums and vek.CauchyGrad at a node, in float64, and of vek.Scan
// at a sample, a complex multiply-add.
const (
	cauchySums, cauchyGrad = 40, 90
	scanFlops              = 8
)

// cauchyFlops counts the operations of a kernel of S4 or of its gradient: those of the sums over
// the modes at length/2 nodes, and one transform.
func cauchyFlops(perTerm float64, modes, length int) float64 {
	return perTerm*float64(modes)*float64(length)/2 + transformFlops(length)
}

// Training is a training run on one batch of noise.
type Training struct {
	net      *convmode.Net
	batch    convmode.Batch
	dLogits  []float32
	weights  *model.Weights
	grads    *model.Weights
	m, v     *model.Weights // AdamW's moments
	finished int            // steps
}

// NewTraining returns a run of a new network on batches of sequences.
func NewTraining(c model.Config, sequences, length, threads int) (*Training, error) {
	m, err := model.New(c, 1)
	if err != nil {
		return nil, err
	}
	net, err := convmode.New(m, convmode.Options{MaxBatch: sequences, MaxLen: length, Workers: threads, Training: true})
	if err != nil {
		return nil, err
	}
	b := convmode.Batch{Size: sequences, Len: length}
	if c.Encoder == model.EncoderEmbedding {
		b.Tokens = make([]int32, sequences*length)
		for i := range b.Tokens {
			b.Tokens[i] = int32(i % c.DInput)
		}
	} else {
		b.X = Noise(sequences*c.DInput*length, 1)
	}
	return &Training{net: net, batch: b, weights: m.Weights, grads: model.NewWeights(c), m: model.NewWeights(c), v: model.NewWeights(c)}, nil
}

// Close ends the threads.
func (t *Training) Close() { t.net.Close() }

// Step makes a step: forward, loss, backward and AdamW. The loss is the cross-entropy or, of a
// network with an output per position, the sum of squares.
func (t *Training) Step() {
	t.finished++
	logits := t.net.ForwardTrain(t.batch, convmode.Step{Seed: 1, Step: t.finished})
	t.dLogits = append(t.dLogits[:0], logits...)
	classes := len(t.weights.DecoderBias)
	if rows := len(logits) / classes; rows <= t.batch.Size {
		for i := range rows {
			vek.SoftmaxCrossEntropy(t.dLogits[i*classes:][:classes], logits[i*classes:][:classes], i%classes)
		}
		vek.Scale(t.dLogits, 1/float32(rows), t.dLogits)
	}
	t.grads.Zero()
	t.net.Backward(t.dLogits, t.grads)
	// At this rate and without corrections of the moments the weights hardly change, however long
	// the run is.
	vek.AdamW(t.weights.Flat(), t.m.Flat(), t.v.Flat(), t.grads.Flat(),
		vek.AdamWParams{LR: 1e-6, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Correction1: 1, Correction2: 1})
}
