package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/pth"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// ExportPyTorch writes a checkpoint that the network of state-spaces/s4's example.py loads, with
// minimal S4D layers. Any parametrisation and discretisation of the poles has an equivalent minimal
// layer: A = log λ̄/Δ, and C absorbs B̄. S4 is written as full layers of version 4 with low-rank
// kernels and Δ = e^x (StepExp): the parameters themselves. A feature that the network with these
// layers does not have is an error that names it and wraps errors.ErrUnsupported.
func (m *Model) ExportPyTorch(path string) error {
	tensors, err := m.checkpoint()
	if err != nil {
		return fmt.Errorf("model: to PyTorch: %w%.0w", err, errors.ErrUnsupported)
	}
	return inModel(atomicfile.Write(path, 0o666, func(w io.Writer) error { return pth.Write(w, tensors) }))
}

// checkpoint returns the tensors of the network with minimal S4D layers, or of S4 with full layers.
func (m *Model) checkpoint() ([]pth.Tensor, error) {
	kind, plain := &minimalS4D, m.Config
	if m.Config.SSM.Layer == ssm.LayerS4 {
		kind = &rankOne4
	} else {
		plain.SSM = ssm.Config{DState: 2 * m.Config.SSM.Modes(), Init: ssm.Imported, Disc: ssm.ZOH}
	}
	if err := m.Config.exportable(kind); err != nil {
		return nil, err
	}
	out := &Model{Config: plain, Weights: NewWeights(plain)}
	out.Weights.copyShared(m.Weights)
	c := m.Config.SSM
	undamped := c.AReal == 0 && c.Init != ssm.Imported // a pole may be λ̄ = 1
	if !kind.full && (c.Discrete() || undamped || c.Layer == ssm.LayerDSS || c.Disc != ssm.ZOH || c.TrainB || c.Bandlimit > 0 || m.Config.ssmConfig().Copies() != m.Config.DModel) {
		for i := range out.Weights.Layers {
			if err := out.Weights.Layers[i].setMinimal(m.SSMParams(i), c.Disc); err != nil {
				return nil, fmt.Errorf("layer %d: %w", i, err)
			}
		}
	}
	decoder, bias := m.OutputDecoder()
	copy(out.Weights.DecoderWeight, decoder)
	copy(out.Weights.DecoderBias, bias)
	var tensors []pth.Tensor
	for _, t := range out.Weights.Tensors() {
		name, shape, value := kind.source(t, ImportOptions{Step: StepExp}, c.Directions())
		if value != nil { // of StepExp: −x, its own inverse
			for i, x := range t.Data {
				t.Data[i] = float32(value(float64(x)))
			}
		}
		tensors = append(tensors, pth.Tensor{Name: name, Shape: shape, Data: t.Data})
		count := func(name string, n int) {
			tensors = append(tensors, pth.Tensor{Name: name, Shape: []int{}, Data: []float32{float32(n)}, Count: true})
		}
		if stem, ok := strings.CutSuffix(name, kind.field("C")); ok && kind.rankOne() {
			count(stem+kind.kernel+kind.length, c.LKernel)
		}
		if stem, ok := strings.CutSuffix(name, "running_var"); ok {
			count(stem+"num_batches_tracked", 0) // not known, and not used with a fixed momentum
		}
	}
	return tensors, nil
}

// exportable returns an error that names the first feature that the network with such layers does
// not have: example.py's, and for full layers the official trainer's with its norms.
func (c Config) exportable(k *layerKind) error {
	for _, feature := range []struct {
		present bool
		what    string
	}{
		{c.Encoder != EncoderLinear, "the encoder is an embedding"}, {c.Pairs, "it compares two sequences"},
		{c.Norm != NormLayer && (c.Norm != NormBatch || !k.full), fmt.Sprintf("norm %q", c.Norm)}, {c.Eps() != 1e-5, fmt.Sprintf("norm_eps %v", c.NormEps)},
		{c.FinalNorm && !(k.full && c.PreNorm), "there is a norm after the last layer"},
		{!c.Residual, "there is no residual path"}, {c.Activation != ActivationGELU, fmt.Sprintf("activation %q", c.Activation)},
		{c.Mixing != MixingGLU, fmt.Sprintf("mixing %q", c.Mixing)}, {c.Pool != PoolMean, fmt.Sprintf("pool %q", c.Pool)},
		{c.CountSSM() != c.NLayers, "some layers have no SSM"},
		{!k.full && !c.SSM.Diagonal(), fmt.Sprintf("layer %q", c.SSM.Layer)}, {!k.full && c.SSM.Bidirectional, "the SSMs are bidirectional"},
		{c.SSM.LMax > 0 && c.SSM.LMax != c.SSM.LKernel, "kernels are truncated"},
	} {
		if feature.present {
			return fmt.Errorf("%s, which the network of %s does not support", feature.what, k.name)
		}
	}
	return nil
}

// setMinimal sets the parameters of a minimal layer with the same poles and weights: with a = log λ̄
// and W = C·B̄ of the given layer, A = a/Δ and C = W·A/(e^a − 1).
func (l *Layer) setMinimal(p *ssm.Params, disc ssm.Disc) error {
	d := p.Discretize(disc, 1)
	for h := range d.H {
		step := math.Exp(float64(float32(p.Step[h])))
		l.Step[h] = float32(p.Step[h])
		for n := range d.M {
			i := h*d.M + n
			a := d.LogLambda[i]
			if d.Growing(i) {
				return errors.New("a mode that grows: the minimal layer's modes decay")
			}
			if a == 0 {
				return errors.New("a pole λ̄ = 1: the minimal layer would divide by 0")
			}
			l.Decay[i], l.Freq[i] = float32(math.Log(-real(a)/step)), float32(imag(a)/step)
			// C belongs to A rounded to float32.
			at := complex(-math.Exp(float64(l.Decay[i])), float64(l.Freq[i]))
			c := d.W[i] * at / (cmplx.Exp(at*complex(step, 0)) - 1)
			l.C[2*i], l.C[2*i+1] = float32(real(c)), float32(imag(c))
		}
	}
	if slices.ContainsFunc(l.C, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
		return errors.New("a weight exceeds the range of float32")
	}
	return nil
}
