package convmode

import (
	"math"
	"slices"
	"testing"
)

// TestDropoutDraws checks the share of dropped rows, the scale of the others, and that seed, step,
// block, place and element all change the draw.
func TestDropoutDraws(t *testing.T) {
	const p, count = 0.3, 20000
	draws := func(s Step, block, place int) []float32 {
		list := make([]float32, count)
		for e := range list {
			list[e] = dropoutScale(dropoutStream(s, block, place), e, p)
		}
		return list
	}
	seen := [][]float32{}
	for _, s := range []Step{{Seed: 1}, {Seed: 2}, {Seed: 1, Step: 1}} {
		for block := range 2 {
			for place := range dropoutPlaces {
				list, dropped := draws(s, block, place), 0
				for e, v := range list {
					switch v {
					case 0:
						dropped++
					case float32(1 / (1 - p)):
					default:
						t.Fatalf("element %d is scaled by %v, expected 0 or %v", e, v, float32(1/(1-p)))
					}
				}
				if share := float64(dropped) / count; math.Abs(share-p) > 5*math.Sqrt(p*(1-p)/count) {
					t.Errorf("%+v, block %d, place %d: %.3f dropped, expected %v", s, block, place, share, p)
				}
				if slices.ContainsFunc(seen, func(other []float32) bool { return slices.Equal(other, list) }) {
					t.Errorf("%+v, block %d, place %d: drawn before", s, block, place)
				}
				seen = append(seen, list)
			}
		}
	}
}

// TestDropoutOnlyInTraining checks that inference drops nothing, and that repeating a step repeats
// its draws.
func TestDropoutOnlyInTraining(t *testing.T) {
	c := tiny()
	c.Dropout = 0.5
	m := newModel(t, c)
	n := newNet(t, m, Options{MaxBatch: 3, MaxLen: 40, Training: true})
	b := newBatch(c, 1, 3, 40)
	inference := slices.Clone(n.Forward(b))
	first := slices.Clone(n.ForwardTrain(b, Step{Seed: 1, Step: 5}))
	other := slices.Clone(n.ForwardTrain(b, Step{Seed: 1, Step: 6}))
	if slices.Equal(first, inference) {
		t.Errorf("step 5 gives the outputs of inference %v, expected others", first)
	}
	if slices.Equal(first, other) {
		t.Errorf("steps 5 and 6 give the same outputs %v, expected different ones", first)
	}
	sameBits(t, "step 5 again", n.ForwardTrain(b, Step{Seed: 1, Step: 5}), first)
	sameBits(t, "inference again", n.Forward(b), inference)

	plain := *m
	plain.Config.Dropout = 0
	sameBits(t, "without dropout", newNet(t, &plain, Options{MaxBatch: 3, MaxLen: 40, Training: true}).ForwardTrain(b, Step{}), inference)
}
