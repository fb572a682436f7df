package recurrent_test

import (
	"fmt"
	"log"
	"math"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// A stream takes a signal in pieces of any size. It can be stored between two of them and continues
// with the same bits.
func Example() {
	m, err := model.New(model.Config{
		Encoder: model.EncoderLinear, DInput: 1, DOutput: 4, DModel: 16, NLayers: 2, Norm: model.NormLayer,
		Residual: true, Activation: model.ActivationGELU, Mixing: model.MixingGLU, Pool: model.PoolMean,
		SSM: ssm.Config{DModel: 16, DState: 16, Init: ssm.DFouT, Disc: ssm.ZOH, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5},
	}, 1)
	if err != nil {
		log.Fatal(err)
	}
	net, err := recurrent.New(m, recurrent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	tone := make([]float32, 1000)
	for l := range tone {
		tone[l] = float32(math.Sin(0.3 * float64(l)))
	}

	s := net.NewStream()
	s.Process(tone[:700], 700)
	stored := s.Snapshot(nil)
	output := append([]float32(nil), s.Process(tone[700:], 300)...)

	other := net.NewStream()
	if err := other.Restore(stored); err != nil {
		log.Fatal(err)
	}
	var again []float32
	for _, x := range tone[700:] {
		again = other.Step([]float32{x})
	}
	fmt.Println("position", other.Position(), "state", net.StateBytes(), "bytes")
	fmt.Println("same bits:", fmt.Sprint(output) == fmt.Sprint(again))
	// Output:
	// position 1000 state 3200 bytes
	// same bits: true
}

// Samples of two sensors in their own units go in, and class probabilities come out.
func ExampleOptions_posterior() {
	m, err := model.New(model.Config{
		Encoder: model.EncoderLinear, DInput: 2, DOutput: 2, DModel: 16, NLayers: 1, Norm: model.NormLayer,
		Residual: true, Activation: model.ActivationGELU, Mixing: model.MixingGLU, Pool: model.PoolMean,
		SSM: ssm.Config{DModel: 16, DState: 16, Init: ssm.DFouT, Disc: ssm.ZOH, XiMin: 1e-3, XiMax: 0.1, AReal: 0.5},
	}, 1)
	if err != nil {
		log.Fatal(err)
	}
	m.Meta.Labels = []string{"idle", "running"}                                // a trained model has these
	m.Meta.InputMean, m.Meta.InputStd = []float32{21.5, 1013}, []float32{4, 9} // °C, hPa
	net, err := recurrent.New(m, recurrent.Options{Normalize: true, Posterior: true})
	if err != nil {
		log.Fatal(err)
	}
	s := net.NewStream()
	for _, row := range [][]float32{{20.1, 1009}, {20.3, 1009}, {24.9, 1008}} {
		p := s.Step(row)
		fmt.Printf("%s %.2f\n", m.Meta.Labels[model.ArgMax(p)], p)
	}
	// Output:
	// running [0.25 0.75]
	// running [0.24 0.76]
	// running [0.21 0.79]
}

// A network with the full S4 layer of state-spaces/s4, trained in PyTorch, runs sample by sample.
// PyTorch's output for the whole signal is 0.3902, −0.5062, −0.4040, 0.0306 and −1.0174.
func Example_pyTorch() {
	m, err := model.ImportPyTorch("../internal/golden/testdata/import-v4-zoh-exp-uni.pth", model.ImportOptions{
		Disc: ssm.ZOH, Step: model.StepExp, // which the file does not say
	})
	if err != nil {
		log.Fatal(err)
	}
	net, err := recurrent.New(m, recurrent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := net.NewStream()
	var logits []float32
	for l := range 96 {
		t := 0.05 * float64(l)
		logits = s.Step([]float32{float32(math.Sin(t)), float32(math.Sin(2 * t))})
	}
	fmt.Printf("%.4f\n", logits)
	// Output:
	// [0.3902 -0.5062 -0.4040 0.0306 -1.0174]
}
