package optim

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/model"
)

func network(t *testing.T) *model.Model {
	t.Helper()
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState, c.Norm = 2, 3, 4, 2, 4, model.NormBatch
	return must.Get(model.New(c, 3))(t)
}

// noise fills gradients.
func noise(grads *model.Weights, step int) {
	for n, g := range grads.Tensors() {
		draw := random.New(1, random.Noise, step, n)
		for i := range g.Data {
			g.Data[i] = float32(draw.Normal(uint64(i)))
		}
	}
}

// Steps agree with docs/maths.md §4.1 in float64, one weight at a time. Frozen tensors and running
// statistics stay as they are.
func TestAdamW(t *testing.T) {
	m, c := network(t), Default()
	c.Freeze, c.Betas, c.SSMLR = []string{"encoder", "layers.1"}, [2]float64{0.8, 0.95}, 0.02
	must.Do(t, c.Validate())
	a := NewAdamW(m, c)
	grads := model.NewWeights(m.Config)
	type weight struct{ p, m, v float64 }
	want := map[string][]weight{}
	for _, p := range m.Weights.Tensors() {
		for _, x := range p.Data {
			want[p.Name] = append(want[p.Name], weight{p: float64(x)})
		}
	}
	const factor = 0.5
	for n := 1; n <= 3; n++ {
		noise(grads, n)
		a.Step(grads, n, factor)
		for _, g := range grads.Tensors() {
			if g.Kind == model.KindBuffer || c.Frozen(g) {
				continue
			}
			lr, decay := c.Hyper(g)
			for i, x := range g.Data {
				w, x := &want[g.Name][i], float64(x)
				w.m = c.Betas[0]*w.m + (1-c.Betas[0])*x
				w.v = c.Betas[1]*w.v + (1-c.Betas[1])*x*x
				mean, square := w.m/(1-math.Pow(c.Betas[0], float64(n))), w.v/(1-math.Pow(c.Betas[1], float64(n)))
				w.p += -factor*lr*decay*w.p - factor*lr*mean/(math.Sqrt(square)+epsilon)
			}
		}
	}
	frozen := 0
	first, second := a.Moments()
	for k, p := range m.Weights.Tensors() {
		if c.Frozen(p) {
			frozen++
		}
		for i, got := range p.Data {
			w := want[p.Name][i]
			for _, v := range [][2]float64{{float64(got), w.p}, {float64(first.Tensors()[k].Data[i]), w.m}, {float64(second.Tensors()[k].Data[i]), w.v}} {
				if math.Abs(v[0]-v[1]) > 1e-6*(1+math.Abs(v[1])) {
					t.Fatalf("%s[%d]: %v, expected %v", p.Name, i, v[0], v[1])
				}
			}
		}
	}
	if frozen < 5 {
		t.Errorf("%d frozen tensors, expected those of the encoder and of a layer", frozen)
	}
	if n := testing.AllocsPerRun(5, func() { a.Step(grads, 4, factor) }); n > 0 && !must.RaceEnabled {
		t.Errorf("%v allocations per step", n)
	}
}

func TestValidate(t *testing.T) {
	must.Do(t, Default().Validate())
	for want, change := range map[string]func(*Config){
		"optim.betas[0] 1":                           func(c *Config) { c.Betas[0] = 1 },
		"optim.betas[1] -0.1":                        func(c *Config) { c.Betas[1] = -0.1 },
		`optim.schedule "linear": expected one of [`: func(c *Config) { c.Schedule = "linear" },
		"optim.warmup NaN":                           func(c *Config) { c.Warmup = math.NaN() },
		"optim.milestones: ":                         func(c *Config) { c.Schedule = MultiStep },
		"lr -1":                                      func(c *Config) { c.LR = -1 },
	} {
		c := Default()
		change(&c)
		must.Fail(t, c.Validate(), want)
	}
	must.Equal(t, slices.Contains(Schedules(), Default().Schedule), true, "the default schedule is known")
}
