package task

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
	"github.com/s4d-fast/s4d-fast/train/optim"
)

// Every method has valid settings for each of its tasks. None of them is that of the paper, and a
// key that is set twice for a task has two values.
func TestMethodPresets(t *testing.T) {
	for _, name := range Methods() {
		must.Equal(t, len(Tasks(name)) > 0, true, "%s: tasks", name)
		for _, of := range Tasks(name) {
			tk := must.Get(Lookup(of))(t)
			c := must.Get(tk.MethodPreset(name))(t)
			paper := tk.Preset()
			for key, v := range paper.Data {
				must.Equal(t, c.Data[key], v, "%s, %s: data.%s", name, of, key)
			}
			if c.SSM == paper.SSM || c.SSM.Layer == "" || c.Model.NLayers < 4 {
				t.Errorf("%s, %s: %+v %+v", name, of, c.Model, c.SSM)
			}
			if tk.ReadsData() {
				c.SetDir("data")
			}
			if err := tk.Resolve(&c); err != nil {
				t.Errorf("%s, %s: %v", name, of, err)
			}
			keys := strings.Fields(methods[name].All + " " + methods[name].Tasks[of])
			slices.Sort(keys)
			must.Equal(t, len(slices.Compact(slices.Clone(keys))), len(keys), "%s, %s: settings without repetition", name, of)
		}
	}
}

// The mathematics list the tasks of every method.
func TestMethodTasksDocumented(t *testing.T) {
	doc := string(must.Get(os.ReadFile("../../docs/maths.md"))(t))
	for _, name := range Methods() {
		if row := fmt.Sprintf("| `%s` | %s |\n", name, strings.Join(Tasks(name), ", ")); !strings.Contains(doc, row) {
			t.Errorf("docs/maths.md lacks the row %s", row)
		}
	}
}

func TestMethodErrors(t *testing.T) {
	listops := must.Get(Lookup("listops"))(t)
	must.Reject(listops.MethodPreset("s6"))(t, train.ErrConfig, `preset "s6": expected one of dss, lru, s4-fout, s4-legs, s5`)
	delay := must.Get(Lookup("delay"))(t)
	must.Reject(delay.MethodPreset("s5"))(t, train.ErrConfig, `preset "s5": no settings for task "delay", only for image, listops`)
}

// Rows of the published tables.
func TestMethodValues(t *testing.T) {
	get := func(task, method string) train.Config {
		return must.Get(must.Get(Lookup(task))(t).MethodPreset(method))(t)
	}
	c := get("listops", "s5")
	want := model.Config{
		DModel: 128, NLayers: 8, Norm: model.NormBatch, PreNorm: true, NormMomentum: 0.05, Residual: true,
		Activation: model.ActivationGELUTanh, Mixing: model.MixingHalfGLU2, Pool: model.PoolMean,
	}
	must.Equal(t, c.Model, want, "S5's network for ListOps")
	if s := c.SSM; s.Layer != ssm.LayerS5 || s.DState != 16 || s.Blocks != 8 || s.CInit != ssm.CLecunNormal || !s.Bidirectional || s.DtMin != 0.001 || s.DtMax != 0.1 {
		t.Errorf("S5's layers for ListOps: %+v", s)
	}
	if o := c.Optim; o.LR != 0.003 || o.SSMLR != 0.001 || o.WeightDecay != 0.04 || o.Recipe != model.RecipeBFast || o.Schedule != optim.CosineS5 || o.Warmup*float64(c.Train.Epochs) != 1 {
		t.Errorf("S5's optimiser for ListOps: %+v", o)
	}
	// 6 × (3P + 4PH + H and, bidirectional, 2PH of the SSM; 2H of the norm; H² + H of the gate), an
	// encoder with 3 tokens without bias and a decoder with 10 classes, for P = 128 and H = 128.
	c = get("pathx128", "s5")
	c.Model.Encoder, c.Model.DInput, c.Model.DOutput = model.EncoderEmbedding, 3, 10
	p, h := 128, 128
	must.Equal(t, c.Network(dataset.Info{}).CountParams(), 6*(3*p+6*p*h+h+2*h+h*h+h)+3*h+10*h+10, "parameters of S5 for Path-X")
}
