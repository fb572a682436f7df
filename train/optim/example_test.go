package optim_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train/loss"
	"github.com/s4d-fast/s4d-fast/train/optim"
)

// A training loop of its own, without package train. The network learns whether a sequence of 32
// samples has one pulse or two.
func Example() {
	const size, length, steps = 16, 32, 200
	cfg := model.Default()
	cfg.DInput, cfg.DOutput, cfg.DModel, cfg.NLayers = 1, 2, 8, 1
	m, err := model.New(cfg, 1)
	if err != nil {
		log.Fatal(err)
	}
	net, err := convmode.New(m, convmode.Options{MaxBatch: size, MaxLen: length, Training: true})
	if err != nil {
		log.Fatal(err)
	}
	defer net.Close()
	c := optim.Default()
	schedule, adam := optim.NewSchedule(c, 1, steps), optim.NewAdamW(m, c)
	grads, dlogits := model.NewWeights(cfg), make([]float32, size*cfg.DOutput)

	batch, labels := convmode.Batch{Size: size, Len: length, X: make([]float32, size*length)}, make([]int, size)
	pulses := func(step int) { // makes a batch
		clear(batch.X)
		for i := range labels {
			labels[i] = (i + step) % 2
			at := (i*i + 7*step) % (length / 2)
			batch.X[i*length+at] = 1
			if labels[i] == 1 {
				batch.X[i*length+at+3+(i+step)%8] = 1
			}
		}
	}
	for step := range steps {
		pulses(step)
		logits := net.ForwardTrain(batch, convmode.Step{Seed: 1, Step: step})
		s := loss.CrossEntropy(dlogits, logits, labels)
		grads.Zero()
		net.Backward(dlogits, grads)
		net.UpdateStatistics() // of BatchNorms
		adam.Step(grads, step+1, schedule.Factor(step, 0))
		if step == 0 {
			fmt.Printf("first loss between 0.6 and 0.9: %t\n", s.Mean() > 0.6 && s.Mean() < 0.9)
		}
	}
	pulses(steps)
	s := loss.CrossEntropy(dlogits, net.Forward(batch), labels)
	fmt.Printf("%d of %d right, loss below 0.2: %t\n", s.Correct, s.Terms, s.Mean() < 0.2)
	// Output:
	// first loss between 0.6 and 0.9: true
	// 16 of 16 right, loss below 0.2: true
}
