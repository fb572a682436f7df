package convmode

import (
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func s4Config(init ssm.Init, taps int, bidirectional bool) model.Config {
	c := bare(4, ssm.Config{})
	c.SSM = ssm.Config{Layer: ssm.LayerS4, DState: 16, Init: init, Disc: ssm.Bilinear, LKernel: taps, DtMin: 1e-3, DtMax: 0.1,
		Bidirectional: bidirectional}
	return c
}

// recurrence returns K[l] = ⟨C, Ā^l·B̄⟩ of a row of C, which p has in place of C̃, at a step scale.
func recurrence(p *ssm.Params, row int, stepScale float64, taps int) []float64 {
	m := p.Modes()
	r, c, k := ssm.NewRankOne(m), p.C[row*m:(row+1)*m], make([]float64, taps)
	p.RankOne(r, row%p.DModel, stepScale)
	state := append([]complex128(nil), r.B...)
	for l := range k {
		w := 0.0
		for n, v := range state {
			k[l] += 2 * real(c[n]*v)
			w += 2 * real(r.U[n]*v)
		}
		for n, v := range state {
			state[n] = r.E[n]*v - r.P[n]*complex(w, 0)
		}
	}
	return k
}

// Kernels longer than C̃'s, shorter, of a stored C, and at other step scales are those of the
// recurrence with the recovered C.
func TestRankOneKernels(t *testing.T) {
	for _, test := range []struct {
		length, taps int
		stepScale    float64
	}{{64, 64, 1}, {64, 20, 1}, {50, 170, 1}, {0, 33, 1}, {64, 64, 2}, {64, 30, 0.5}, {64, 41, 1.5}, {0, 20, 2}} {
		for _, init := range []ssm.Init{ssm.LegS, ssm.FouT} {
			m := newModel(t, s4Config(init, test.length, true))
			source, plan := newRankOne(m.Config, test.stepScale, nil), newKernelPlan(m.Config, test.stepScale, test.taps)
			source.fill(&m.Weights.Layers[0])
			p := m.SSMParams(0)
			must.Do(t, p.RecoverChannels(0, p.DModel))
			scratch := make([]float32, plan.ScratchLen())
			for h := range p.DModel {
				for range 2 { // a second call finds C̃ moved
					k0, k1 := make([]float32, test.taps), make([]float32, test.taps)
					source.discretize(h)
					source.kernels(plan, scratch, h, k0, k1)
					within(t, "kernel", k0, recurrence(p, h, test.stepScale, test.taps), 2e-6)
					within(t, "second kernel", k1, recurrence(p, p.DModel+h, test.stepScale, test.taps), 2e-6)
				}
			}
		}
	}
}

// A longer batch leaves the kernels of a shorter one unchanged, although C̃ is doubled for it.
func TestRankOnePlans(t *testing.T) {
	m := newModel(t, s4Config(ssm.LegS, 50, false))
	n := newNet(t, m, Options{MaxBatch: 2, MaxLen: 130})
	short := newBatch(m.Config, 1, 2, 40)
	want := append([]float32(nil), n.Forward(short)...)
	n.Forward(newBatch(m.Config, 2, 2, 130))
	sameBits(t, "outputs", n.Forward(short), want)
	fixed := newNet(t, m, Options{MaxBatch: 2, MaxLen: 130, Fixed: true})
	for range 2 {
		sameBits(t, "outputs of fixed kernels", fixed.Forward(short), want)
	}
}

func TestRankOneTraining(t *testing.T) {
	for want, change := range map[string]func(c *model.Config, o *Options){
		"convmode: ssm.l_kernel 64: layer \"s4\" is trained with at least 65 taps": func(c *model.Config, o *Options) { o.MaxLen = 65 },
		"convmode: ssm.l_kernel 0":                         func(c *model.Config, o *Options) { c.SSM.LKernel = 0 },
		"convmode: StepScale 2: a network is trained at 1": func(c *model.Config, o *Options) { o.StepScale = 2 },
	} {
		c, o := s4Config(ssm.LegS, 64, false), Options{MaxBatch: 2, MaxLen: 64, Training: true}
		change(&c, &o)
		must.Reject(New(must.Get(model.New(c, 1))(t), o))(t, want)
	}
}

// A training step allocates nothing, nor does the bit pattern of its gradients depend on the number
// of workers, with poles of one channel each or shared. Kernels of 200 taps have transforms of
// their own for each worker, which a worker may need for the first time in any step.
func TestRankOneSteps(t *testing.T) {
	for _, length := range []int{192, 200} {
		for _, copies := range []int{0, 2} {
			c := s4Config(ssm.Hippo, length, true)
			c.SSM.NSSM = copies
			var want []float32
			for _, workers := range []int{1, 3} {
				n := newNet(t, newModel(t, c), Options{MaxBatch: 5, MaxLen: length, Workers: workers, Training: true})
				b, g := newBatch(c, 1, 5, length), model.NewWeights(c)
				d := noise(3, logitCount(c, b))
				step := func() {
					n.ForwardTrain(b, Step{Seed: 1, Step: 1})
					n.Backward(d, g)
				}
				step()
				if want == nil {
					want = append(want, g.Flat()...)
				}
				sameBits(t, "gradient", g.Flat(), want)
				if length == 192 || workers == 1 {
					must.Equal(t, testing.AllocsPerRun(4, step), 0, "allocations per step")
				}
			}
		}
	}
}

// singular sets Λ and P to 0, so that Ā is the identity.
func singular(m *model.Model) {
	l := &m.Weights.Layers[0]
	for i := range l.Decay {
		l.Decay[i], l.Freq[i] = -1e30, 0
	}
	clear(l.P)
}

// A model whose C cannot be recovered is an error where kernels need C. Fixed weights give the bits
// of others.
func TestRankOneRecovery(t *testing.T) {
	m := newModel(t, s4Config(ssm.LegS, 50, true))
	o := Options{MaxBatch: 2, MaxLen: 40, StepScale: 2}
	b := newBatch(m.Config, 1, 2, 40)
	want := newNet(t, m, o).Forward(b)
	o.Fixed = true
	fixed := newNet(t, m, o)
	for range 2 {
		sameBits(t, "outputs", fixed.Forward(b), want)
	}
	singular(m)
	for _, o.Fixed = range []bool{false, true} {
		must.Reject(New(m, o))(t, "convmode: layer 0, StepScale 2: ssm: channel 0: l_kernel 50: C cannot be recovered")
	}
	for i := range m.Weights.Layers[0].P {
		m.Weights.Layers[0].P[i] = 1e30
	}
	m.Weights.Layers[0].Step[0] = 1e4
	must.Reject(New(m, o))(t, "convmode: layer 0, StepScale 2: ssm: channel 0: l_kernel 50: C cannot be recovered")
}
