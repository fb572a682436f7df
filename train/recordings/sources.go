package recordings

import (
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// sources draws recordings: first one of the folders that they come from, then one of its
// recordings. Both probabilities are proportional to the square root of the length. So another
// folder with thousands of short recordings takes little from the one with an hour of sentences,
// and in a folder with both, sentences and single words both occur.
type sources struct {
	folders []source
	upTo    []float64 // sums of the square roots of their lengths
}

// source is the recordings of one folder.
type source struct {
	clips []int
	upTo  []float64 // sums of the square roots of their lengths
}

func newSources(clips []Clip, length func(i int) int) (s sources) {
	index := map[int]int{} // of the folders
	var lengths []float64
	for i := range clips {
		k, ok := index[clips[i].Source]
		if !ok {
			k = len(s.folders)
			index[clips[i].Source] = k
			s.folders, lengths = append(s.folders, source{}), append(lengths, 0)
		}
		f, n := &s.folders[k], float64(length(i))
		f.clips, f.upTo = append(f.clips, i), appendSum(f.upTo, math.Sqrt(n))
		lengths[k] += n
	}
	for _, n := range lengths {
		s.upTo = appendSum(s.upTo, math.Sqrt(n))
	}
	return s
}

// appendSum appends the sum of the last number and x.
func appendSum(sums []float64, x float64) []float64 {
	if n := len(sums); n > 0 {
		x += sums[n-1]
	}
	return append(sums, x)
}

// draw returns the index of a recording.
func (s *sources) draw(r *random.Sampler) int {
	f := &s.folders[below(s.upTo, r.Uniform())]
	return f.clips[below(f.upTo, r.Uniform())]
}

// below returns the index of the interval between sums that a fraction u of the last one is in.
func below(sums []float64, u float64) int {
	i, _ := slices.BinarySearch(sums, u*sums[len(sums)-1])
	return min(i, len(sums)-1)
}
