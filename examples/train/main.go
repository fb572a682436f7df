// Command train trains a network to recognise the state of a machine by its vibration. Then it
// monitors a stream block by block, as a program beside the machine would. The data are generated.
//
//	go run ./examples/train
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

const (
	rate   = 1000 // samples of the accelerometer per second
	length = 256  // samples of a recording
	block  = 250  // samples between two lines of the monitor
)

var states = []string{"healthy", "misaligned", "bearing"}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	random := rand.New(rand.NewPCG(1, 2))
	data, err := dataset.FromSlices(dataset.Info{Name: "vibration", Channels: 1, Labels: states, SampleRate: rate},
		recordings(600, random), recordings(150, random), recordings(150, random))
	if err != nil {
		return err
	}
	cfg := train.Default()
	cfg.Model.DModel, cfg.Model.NLayers, cfg.SSM.DState = 16, 2, 16
	cfg.SSM.Init = ssm.Lin
	cfg.SSM.Bidirectional = false // a stream does not know later samples
	cfg.Train.Epochs = 10
	t, err := train.New(ctx, cfg, data, train.Options{}) // without a run folder
	if err != nil {
		return err
	}
	if err := t.Fit(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "accuracy on %d new recordings: %.1f %%\n", t.Test().N, 100*t.Test().Accuracy); err != nil {
		return err
	}
	return monitor(t.Best(), random, w)
}

// monitor processes two seconds of every state and writes the most probable state after each block.
func monitor(m *model.Model, random *rand.Rand, w io.Writer) error {
	net, err := recurrent.New(m, recurrent.Options{
		Window:    length, // the output describes the last 256 samples, not all samples so far
		Normalize: true,   // the input is in m/s², as in training
		Posterior: true,   // the output is the probability of each state
	})
	if err != nil {
		return err
	}
	stream := net.NewStream() // constant memory, however long the machine runs
	for state := range states {
		x := vibration(state, 2*rate, random)
		for ; len(x) >= block; x = x[block:] {
			p := stream.Process(x[:block], block)
			best := model.ArgMax(p)
			if _, err := fmt.Fprintf(w, "%5.2f s  %-10s  %.2f\n", float64(stream.Position())/rate, m.Meta.Labels[best], p[best]); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordings returns n labelled recordings, the same number for every state.
func recordings(n int, random *rand.Rand) []dataset.Example {
	list := make([]dataset.Example, n)
	for i := range list {
		state := i % len(states)
		list[i] = dataset.Example{X: vibration(state, length, random), Label: state}
	}
	return list
}

// vibration returns n samples in m/s² of a sensor on a shaft that turns 20 to 30 times per second.
// A misaligned shaft also vibrates twice per turn. A damaged bearing is struck 3.6 times per turn,
// and each strike rings at 300 Hz. The amplitude is random and does not depend on the state.
func vibration(state, n int, random *rand.Rand) []float32 {
	x := make([]float32, n)
	turns, phase, gain := 20+10*random.Float64(), random.Float64(), math.Exp(random.Float64())
	for i := range x {
		t := float64(i) / rate
		angle := turns*t + phase // in turns
		v := math.Sin(2*math.Pi*angle) + 0.3*random.NormFloat64()
		switch states[state] {
		case "misaligned":
			v += math.Sin(4 * math.Pi * angle)
		case "bearing":
			since := math.Mod(3.6*angle, 1) / (3.6 * turns) // seconds since the last strike
			v += 2 * math.Exp(-150*since) * math.Sin(2*math.Pi*300*since)
		}
		x[i] = float32(9.81 + gain*v) // gravity is part of what the sensor measures
	}
	return x
}
