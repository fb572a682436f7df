package model_test

import (
	"bytes"
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// A network for one audio channel and three words, written to a file and read back.
func Example() {
	c := model.Default()
	c.DInput, c.DOutput, c.DModel, c.NLayers, c.SSM.DState = 1, 3, 16, 2, 8
	m, err := model.New(c, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Meta = model.Meta{Labels: []string{"yes", "no", "stop"}, SampleRate: 8000}

	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}
	same, err := model.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(same.Config.CountParams(), "parameters,", same.Meta.Labels, same.Hash() == m.Hash())
	for _, t := range same.Weights.Tensors()[:5] {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// 1811 parameters, [yes no stop] true
	// encoder.weight [16 1]
	// encoder.bias [16]
	// layers.0.log_dt [16]
	// layers.0.log_A_real [16 4]
	// layers.0.A_imag [16 4]
}

func ExampleGroupConfig_Hyper() {
	g := model.GroupConfig{
		Recipe: model.RecipeDefault, LR: 0.01, WeightDecay: 0.05,
		SSMLR: model.FollowRule, StepLR: model.FollowRule,
	}
	c := model.Default()
	c.NLayers = 1
	for _, t := range model.NewWeights(c).Tensors() {
		lr, decay := g.Hyper(t)
		fmt.Printf("%-20s lr %-7g weight decay %g\n", t.Name, lr, decay)
	}
	// Output:
	// encoder.weight       lr 0.01    weight decay 0.05
	// encoder.bias         lr 0.01    weight decay 0
	// layers.0.log_dt      lr 0.001   weight decay 0
	// layers.0.log_A_real  lr 0.001   weight decay 0
	// layers.0.A_imag      lr 0.001   weight decay 0
	// layers.0.C           lr 0.01    weight decay 0.05
	// layers.0.D           lr 0.01    weight decay 0.05
	// layers.0.mix.weight  lr 0.01    weight decay 0.05
	// layers.0.mix.bias    lr 0.01    weight decay 0
	// layers.0.norm.weight lr 0.01    weight decay 0
	// layers.0.norm.bias   lr 0.01    weight decay 0
	// decoder.weight       lr 0.01    weight decay 0.05
	// decoder.bias         lr 0.01    weight decay 0
}
