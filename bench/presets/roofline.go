package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// limits are the rates of one core that bound every loop.
type limits struct {
	Flops float64 // floating-point operations per second, in multiply-adds on registers
	Bytes float64 // bytes read and written per second, in a copy of an array larger than the caches
}

// measureLimits returns the highest rates of a few runs.
func measureLimits() (l limits) {
	const rounds, floats = 1 << 16, 1 << 26
	from, to := make([]float32, floats), make([]float32, floats)
	vek.Fill(from, 1) // pages that were never written are not in memory
	for range 6 {
		began := time.Now()
		_, flops := vek.FMAPeak(rounds)
		l.Flops = max(l.Flops, flops/time.Since(began).Seconds())
		began = time.Now()
		copy(to, from)
		l.Bytes = max(l.Bytes, 8*floats/time.Since(began).Seconds())
	}
	return l
}

// work is what a part of a training step must at least compute and move: the operations of its
// matrix products, transforms and kernels, and one pass over each activation that it reads or
// writes. Elementwise functions, packing and scratch memory are not counted.
type work struct{ Flops, Bytes float64 }

// part is a group of loops of a training step.
type part struct {
	name  string
	loops string // names of their functions in convmode, those of BatchNorm last
	ssm   bool   // only in blocks with an SSM
	work  func(c model.Config, batch, length int) work
}

var parts = []part{
	{"convolution", "convolveChannel", true, func(c model.Config, batch, length int) work {
		return work{convolutionFlops(c, batch, length, 2, 1), 2 * arrayBytes(c, batch, length)} // reads u, writes v
	}},
	{"activation, mixing, norm", "forwardTile forwardChannel", false, func(c model.Config, batch, length int) work {
		arrays := 3 + mixed(c) // reads v and x, writes the result and z
		if c.Norm != model.NormNone {
			arrays++ // also writes the norm's input (post-norm) or its result (pre-norm)
		}
		return work{mixingFlops(c, batch, length), arrays * arrayBytes(c, batch, length)}
	}},
	{"the same, backward", "groupGradItem sumPartialsChunk backwardChannel", false, func(c model.Config, batch, length int) work {
		arrays := 4 + mixed(c) // reads v, z and ∂x, writes ∂v and ∂x
		if c.Norm != model.NormNone {
			arrays++ // reads the norm's input
		}
		if c.PreNorm {
			arrays++ // reads ∂u
		}
		return work{2 * mixingFlops(c, batch, length), arrays * arrayBytes(c, batch, length)}
	}},
	{"convolution, backward", "convolveGradChannel", true, func(c model.Config, batch, length int) work {
		arrays := 4.0 // reads u, ∂v and ∂x, writes ∂x
		if c.PreNorm {
			arrays = 3 // reads u and ∂v, writes ∂u
		}
		return work{convolutionFlops(c, batch, length, 3, 2), arrays * arrayBytes(c, batch, length)}
	}},
}

// arrayBytes returns the size of activations [batch][H][length].
func arrayBytes(c model.Config, batch, length int) float64 {
	return 4 * float64(batch) * float64(c.DModel) * float64(length)
}

// mixed returns the size of z as a multiple of arrayBytes.
func mixed(c model.Config) float64 {
	if c.Gated() {
		return float64(c.MixingRows() / c.DModel)
	}
	return 0
}

func mixingFlops(c model.Config, batch, length int) float64 {
	return 2 * float64(c.MixingRows()) * float64(c.DModel) * float64(batch) * float64(length)
}

// convolutionFlops counts, per pair of rows, the given number of transforms, and a product of
// spectra for each of them but the first. Per channel it adds one transform of the kernel and, per
// direction, the sums over the modes: one for the kernel (kernels = 1), two for its gradient
// (kernels = 2). A transform of n points counts as 5·n·log2(n).
func convolutionFlops(c model.Config, batch, length, transforms, kernels int) float64 {
	n := 2 * float64(length)
	transform, product := 5*n*math.Log2(n), 6*n
	pairs := float64((batch+1)/2) * (float64(transforms)*transform + float64(transforms-1)*product)
	taps := float64(length)
	if c.SSM.LMax > 0 {
		taps = min(taps, float64(c.SSM.LMax))
	}
	kernel := transform + float64(kernels*c.SSM.Directions())*4*float64(c.SSM.Modes())*taps
	return float64(c.DModel) * (pairs + kernel)
}

// seconds returns the total time of a part's loops.
func (p part) seconds(loops map[string]float64) (sum float64) {
	for name, seconds := range loops {
		name = strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "-fm")
		if slices.Contains(strings.Fields(p.loops), name) {
			sum += seconds
		}
	}
	return sum
}

// roofline returns the rows of a preset.
func (r result) roofline(task string, l limits) string {
	var s strings.Builder
	row := func(name string, seconds float64, w work) {
		limit := max(w.Flops/l.Flops, w.Bytes/l.Bytes)
		fmt.Fprintf(&s, "| %s | %d | %s | %s | %.1f | %.1f %% | %.2f | %.0f %% | %.0f | %.1f | %.1f |\n", task, r.Length, r.batch(), name,
			1e3*seconds, 100*seconds/r.Seconds, w.Flops/1e9, 100*w.Flops/seconds/l.Flops, w.Bytes/1e6, w.Bytes/seconds/1e9, 1e3*limit)
	}
	rest, sum := r.Seconds, work{}
	for _, p := range parts {
		w := p.work(r.Config, r.Sequences, r.Length)
		blocks := float64(r.Config.NLayers)
		if p.ssm {
			blocks = float64(r.Config.CountSSM())
		}
		w.Flops, w.Bytes = w.Flops*blocks, w.Bytes*blocks
		seconds := p.seconds(r.Loops)
		row(p.name, seconds, w)
		rest, sum = rest-seconds, work{sum.Flops + w.Flops, sum.Bytes + w.Bytes}
	}
	fmt.Fprintf(&s, "| %s | %d | %s | encoder, pool, decoder, optimiser | %.1f | %.1f %% | | | | | |\n", task, r.Length, r.batch(), 1e3*rest, 100*rest/r.Seconds)
	row("all", r.Seconds, sum)
	fixed := 2*shortest(r.Config, 2, r.Length) - shortest(r.Config, 4, r.Length)
	fmt.Fprintf(&s, "| %s | %d | %s | of it for any batch | %.1f | %.1f %% | | | | | |\n", task, r.Length, r.batch(), 1e3*fixed, 100*fixed/r.Seconds)
	return strings.TrimSuffix(s.String(), "\n")
}

// shortest returns the seconds of the shortest of a few steps with a batch of sequences. The line
// through those of two and of four sequences begins at the cost of any batch. One sequence is not
// on it, since two share a transform.
func shortest(c model.Config, sequences, length int) float64 {
	run, err := bench.NewTraining(c, sequences, length, 1)
	if err != nil {
		panic(err) // a larger batch was measured before
	}
	defer run.Close()
	best := math.Inf(1)
	for range 6 {
		began := time.Now()
		run.Step()
		best = min(best, time.Since(began).Seconds())
	}
	return best
}
