// Package activity finds the sounds of a recording by their energy: the word in a clip that has
// silence or noise around it.
package activity

import (
	"cmp"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/synth"
)

// Region is a part of a recording.
type Region struct {
	Onset, End int     // samples; the end is exclusive
	Level      float64 // root mean square
}

// The rule by which Regions finds sounds.
const (
	block       = 0.01  // seconds per block of energy
	pause       = 0.2   // seconds: a longer pause separates two sounds of a clip
	edge        = 0.02  // seconds kept on either side of the active blocks
	below       = 30    // dB below the loudest block: the quietest active block
	above       = 10    // dB over the noise of the clip, unless that leaves less than loud
	loud        = 10    // dB below the loudest block: blocks that are active in any noise
	dead        = 60    // dB below the loudest block: blocks that are silent, not noise
	noiseShare  = 0.03  // share of the other blocks that are quieter than the level taken as noise
	silentPower = 1e-12 // of a block: −120 dB re full scale
)

// Regions finds the sounds of a recording by the energy of blocks of 10 ms, each averaged with its
// neighbours. A block is active if it is within 30 dB of the loudest one and more than 10 dB over
// the noise; blocks within 10 dB of the loudest one are always active. The noise is the level that
// 3 % of the blocks do not reach, without those that are silent, 60 dB below the loudest one.
// Active blocks separated by less than 0.2 s, as by the closure of a plosive, belong together, with
// 20 ms on either side. A recording without sound is one region. The rate is in Hz, and x has at
// least one sample.
func Regions(x []float32, rate float64) []Region {
	size := max(1, int(block*rate))
	blocks := max(1, len(x)/size)
	raw, power := make([]float64, blocks), make([]float64, blocks)
	for k := range raw {
		raw[k] = synth.MeanSquare(x[k*size : min((k+1)*size, len(x))])
	}
	for k := range power {
		lo, hi := max(0, k-1), min(blocks, k+2)
		for _, p := range raw[lo:hi] {
			power[k] += p / float64(hi-lo)
		}
	}
	loudest := slices.Max(power)
	if loudest < silentPower {
		return []Region{{0, len(x), math.Sqrt(synth.MeanSquare(x))}}
	}
	sounding := slices.DeleteFunc(slices.Clone(power), func(p float64) bool { return p < loudest*synth.Decibels(-dead) })
	slices.Sort(sounding)
	noise := sounding[int(noiseShare*float64(len(sounding)-1))]
	threshold := max(loudest*synth.Decibels(-below), min(noise*synth.Decibels(above), loudest*synth.Decibels(-loud)))
	pause, last := int(pause/block), -1
	var found []Region // in blocks
	for k, p := range power {
		if p < threshold {
			continue
		}
		if last < 0 || k-last > pause {
			found = append(found, Region{Onset: k})
		}
		last = k
		found[len(found)-1].End = k + 1
	}
	edge := int(edge * rate)
	for i := range found {
		r := &found[i]
		r.Onset = max(0, r.Onset*size-edge)
		if r.End < blocks {
			r.End = min(len(x), r.End*size+edge)
		} else {
			r.End = len(x) // with the incomplete last block
		}
		r.Level = math.Sqrt(synth.MeanSquare(x[r.Onset:r.End]))
	}
	return found
}

// energy is the sum of squares of a region.
func (r Region) energy() float64 { return r.Level * r.Level * float64(r.End-r.Onset) }

// Word returns the sound with the most energy: the word of a clip that has one.
func Word(x []float32, rate float64) Region {
	return slices.MaxFunc(Regions(x, rate), func(a, b Region) int { return cmp.Compare(a.energy(), b.energy()) })
}

// Speech returns the part from the first sound of a recording to its last, with the level of the
// sound with the most energy.
func Speech(x []float32, rate float64) Region {
	all := Regions(x, rate)
	r := slices.MaxFunc(all, func(a, b Region) int { return cmp.Compare(a.energy(), b.energy()) })
	return Region{all[0].Onset, all[len(all)-1].End, r.Level}
}
