package convmode

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// rankOne is the kernelSource of S4: a Cauchy kernel and Woodbury's identity at the nodes of a
// Fourier transform (docs/maths.md §17.2; S4, arXiv 2111.00396, algorithm 1).
type rankOne struct {
	parameters
	moved   *ssm.Params         // the weights with C̃ of another length or rate
	nodes   []int               // [H] the number of nodes to which the channel's moved.C belongs
	systems []fftkernel.RankOne // [directions·H]
}

// rankOnePlan is the kernelPlan of S4.
type rankOnePlan struct {
	*fftkernel.Cauchy
	nodes, length int // length of C̃ at step scale 1
}

// newRankOnePlan returns a plan with as many nodes as C̃ has taps after it is doubled until they
// cover the kernel.
func newRankOnePlan(c ssm.Config, stepScale float64, taps int) rankOnePlan {
	length := c.KernelLength(int(math.Ceil(float64(taps) * stepScale)))
	nodes := max(taps, int(math.Round(float64(length)/stepScale)))
	return rankOnePlan{fftkernel.NewCauchy(c.Modes(), nodes), nodes, length}
}

func newRankOne(c model.Config, stepScale float64, grad *poleGrad) *rankOne {
	p := c.NewSSMParams()
	moved := *p
	moved.C = make([]complex128, len(p.C))
	s := &rankOne{
		parameters: parameters{p, stepScale, grad}, moved: &moved, nodes: make([]int, p.DModel),
		systems: make([]fftkernel.RankOne, p.Directions()*p.DModel),
	}
	m := p.Modes()
	lambda := make([]complex128, p.DModel*m)
	for row := range s.systems {
		h := row % p.DModel
		at := h % p.Copies() * m
		s.systems[row] = fftkernel.RankOne{Lambda: lambda[h*m : (h+1)*m], P: p.P[at : at+m], B: p.B[at : at+m]}
	}
	return s
}

// checkRankOne returns an error if the kernels need a C that cannot be recovered.
func checkRankOne(m *model.Model, opt Options) error {
	if !recovers(m.Config.SSM, opt.StepScale) {
		return nil
	}
	for i := range m.Config.CountSSM() {
		p := m.SSMParams(i)
		if err := p.RecoverChannels(0, p.DModel); err != nil {
			return fmt.Errorf("convmode: layer %d, StepScale %v: %w", i, opt.StepScale, err)
		}
	}
	return nil
}

// recovers reports whether kernels are computed from the recovered C: those of another step scale,
// unless C̃ is kept.
func recovers(c ssm.Config, stepScale float64) bool {
	return stepScale != 1 && c.RateRule != ssm.RateKeep
}

func (s *rankOne) discretize(h int) {
	s.nodes[h] = 0
	step := s.params.Poles(s.systems[h].Lambda, h, s.stepScale)
	for row := h; row < len(s.systems); row += s.params.DModel {
		s.systems[row].Step = step
	}
}

// system returns row of C, with the C̃ of the plan's nodes.
func (s *rankOne) system(p rankOnePlan, row int) *fftkernel.RankOne {
	h, m := row%s.params.DModel, s.params.Modes()
	c := s.params.C
	if exact := recovers(s.params.Config, s.stepScale); exact || p.length != s.params.LKernel {
		if s.nodes[h] != p.nodes {
			s.move(p, h, exact)
			s.nodes[h] = p.nodes
		}
		c = s.moved.C
	}
	s.systems[row].C = c[row*m : (row+1)*m]
	return &s.systems[row]
}

// move computes C̃ of channel h for the plan's nodes (docs/maths.md §17.1).
func (s *rankOne) move(p rankOnePlan, h int, exact bool) {
	m := s.params.Modes()
	for row := h; row < len(s.systems); row += s.params.DModel {
		copy(s.moved.C[row*m:(row+1)*m], s.params.C[row*m:])
	}
	if !exact {
		s.moved.ExtendChannels(p.length, h, h+1)
		return
	}
	if err := s.moved.RecoverChannels(h, h+1); err != nil { // New has checked the first weights
		panic(fmt.Errorf("convmode: %w", err))
	}
	s.moved.TruncateChannels(s.stepScale, p.nodes, h, h+1)
}

func (s *rankOne) kernels(p kernelPlan, scratch []float32, h int, k0, k1 []float32) {
	plan := p.(rankOnePlan)
	plan.Kernel(k0, s.system(plan, h), scratch)
	if k1 != nil {
		plan.Kernel(k1, s.system(plan, s.params.DModel+h), scratch)
	}
}

// kernelGrad computes the sums S1 and S2 of docs/maths.md §17.2.
func (s *rankOne) kernelGrad(p kernelPlan, scratch []float32, h int, dk0, dk1 []float32) {
	plan, per := p.(rankOnePlan), ssm.RankOnePairs*s.params.Modes()
	for dir, dk := range [2][]float32{dk0, dk1} {
		if dk == nil {
			continue
		}
		row := dir*s.params.DModel + h
		lo, hi := row*per, (row+1)*per
		plan.Grad(s.grad.g[lo:hi], s.grad.m[lo:hi], dk, s.system(plan, row), scratch)
		if s.ownPoles() {
			s.backward(row)
		}
	}
}

func (s *rankOne) backward(row int) {
	per := ssm.RankOnePairs * s.params.Modes()
	lo, hi := row*per, (row+1)*per
	s.params.BackwardRankOne(s.grad.params, s.grad.g[lo:hi], s.grad.m[lo:hi], row)
}

// addGrad completes the gradients of channels that share poles.
func (s *rankOne) addGrad(grad *model.Layer) {
	if !s.ownPoles() {
		for row := range s.systems {
			s.backward(row)
		}
	}
	s.parameters.addGrad(grad)
}
