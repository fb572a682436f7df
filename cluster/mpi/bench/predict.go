package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/model"
)

// link is a network between machines.
type link struct {
	name    string
	bytes   float64 // per second, in each direction
	latency float64 // s, of a message
	message float64 // s, of each further message that a machine sends at the same time
}

// links have 90 % of the nominal rate. The latencies are those of TCP in a rack, and of RDMA.
var links = []link{
	{"10 Gbit/s", 0.9 * 10e9 / 8, 30e-6, 3e-6},
	{"100 Gbit/s", 0.9 * 100e9 / 8, 5e-6, 0.5e-6},
}

// step is the fitted time of a step on one machine: fixed + sequence·B + shard·S.
type step struct {
	fixed, sequence, shard float64 // s
	worst                  float64 // largest relative residual
}

// grids are the batches and shards that are measured.
var grids = map[string][][2]int{
	"scifar":   {{16, 1}, {32, 1}, {64, 1}, {32, 8}, {64, 16}},
	"pathx128": {{1, 1}, {2, 1}, {4, 1}, {2, 2}, {4, 4}},
	"pathx256": {{1, 1}, {2, 1}, {2, 2}},
}

// fit measures steps and fits the constants by least squares of relative errors.
func fit(world *mpi.World, name string) (step, error) {
	var rows [][4]float64 // 1, B, S and the time
	for _, g := range grids[name] {
		seconds, err := measure(world, name, g[0], g[1], *threads, min(*steps, 4))
		if err != nil {
			return step{}, err
		}
		fastest := slices.Min(seconds) // other programs make the others slower
		rows = append(rows, [4]float64{1, float64(g[0]), float64(g[1]), fastest})
		fmt.Printf("%s: batch %d, %d shards: %.4f s\n", name, g[0], g[1], fastest)
	}
	var a [3][4]float64 // normal equations
	for _, r := range rows {
		for i := range 3 {
			for j := range 4 {
				a[i][j] += r[i] * r[j] / (r[3] * r[3])
			}
		}
	}
	for i := range 3 {
		for k := range 3 {
			if k == i {
				continue
			}
			f := a[k][i] / a[i][i]
			for j := range 4 {
				a[k][j] -= f * a[i][j]
			}
		}
	}
	s := step{fixed: a[0][3] / a[0][0], sequence: a[1][3] / a[1][1], shard: a[2][3] / a[2][2]}
	for _, r := range rows {
		s.worst = max(s.worst, math.Abs((s.fixed+s.sequence*r[1]+s.shard*r[2])/r[3]-1))
	}
	return s, nil
}

// forwardShare is the part of a step before the backward pass (docs/benchmarks.md).
const forwardShare = 0.38

// seconds predicts the time of a step on so many machines. Each has one shard.
func (s step) seconds(c model.Config, batch, machines int, l link) float64 {
	r := float64(machines)
	sequences := math.Ceil(float64(batch) / r)
	compute := s.fixed + s.sequence*sequences + s.shard
	if machines == 1 {
		return compute
	}
	exchange := func(bytes float64) float64 { // all to all, or from each to all
		return l.latency + (r-2)*l.message + bytes*(r-1)/r/l.bytes
	}
	gather := exchange(8 * float64(c.DModel) * r)
	waits := 2 * exchange(64*r) // to agree before the step, and for the loss
	norms := 0.0
	if c.Norm == model.NormBatch {
		norms = float64(c.NLayers)
		if c.FinalNorm {
			norms++
		}
	}
	forward := forwardShare*compute + waits + norms*2*gather
	block := (1-forwardShare)*compute/float64(c.NLayers) + norms/float64(c.NLayers)*2*gather
	w := model.NewWeights(c)
	now, end := forward, forward
	sum := func(i int) {
		bytes := 4 * float64(len(w.Block(i)))
		end = max(end, now) + 2*exchange(bytes)
	}
	for i := c.NLayers - 1; i >= 0; i-- { // block i + 1 is complete within the pass of block i
		now += block
		sum(i + 1)
	}
	sum(0)
	sum(-1)
	return max(now, end)
}

func predict(world *mpi.World, names []string) error {
	for _, name := range names {
		s, err := fit(world, name)
		if err != nil {
			return err
		}
		cfg, info, err := config(name)
		if err != nil {
			return err
		}
		c, batch := cfg.Network(info), cfg.Train.Batch
		fmt.Printf("%s, %d threads: %.4f s + %.4f s per sequence + %.4f s per shard, residuals up to %.1f %%; %d parameters\n",
			name, *threads, s.fixed, s.sequence, s.shard, 100*s.worst, c.CountParams())
		fmt.Printf("| machines | sequences per machine | speed-up, %s | %s | with %d sequences per machine: %[1]s | %[2]s |\n", links[0].name, links[1].name, batch)
		fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: |")
		for machines := 1; machines <= 64; machines *= 2 {
			fmt.Printf("| %d |", machines)
			if machines > batch {
				fmt.Print(" – | – | – |")
			} else {
				fmt.Printf(" %d |", (batch+machines-1)/machines)
				for _, l := range links {
					fmt.Printf(" %.2f |", s.seconds(c, batch, 1, l)/s.seconds(c, batch, machines, l))
				}
			}
			for _, l := range links {
				fmt.Printf(" %.2f |", float64(machines)*s.seconds(c, batch, 1, l)/s.seconds(c, batch*machines, machines, l))
			}
			fmt.Println()
		}
	}
	return nil
}
