package task

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mathext/prng"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	for _, name := range []string{"bidmc-hr", "bidmc-rr", "bidmc-spo2"} { // heart rate, respiratory rate, oxygen saturation
		register(Task{
			name:    name,
			source:  "BIDMC32HR, BIDMC32RR and BIDMC32SpO2 are published at tseregression.org; pass a folder with NAME_TRAIN.ts and NAME_TEST.ts",
			options: noOptions(loadBIDMC),
		})
	}
}

// loadBIDMC loads one target of BIDMC32 (docs/maths.md §5.6). The two files are joined.
// scikit-learn's train_test_split with seed 0 selects 30 % of the series, and with seed 1 halves
// them into test and validation set.
func loadBIDMC(_ context.Context, src Source) (*dataset.Dataset, error) {
	s, rest, err := readTS(src)
	if err != nil {
		return nil, err
	}
	if !s.Regression {
		return nil, fmt.Errorf("%s has classes, expected a number for each series", s.Path)
	}
	all := append(s.Examples, rest.Examples...)
	evaluated, trained := sklearnSplit(len(all), 0.3, 0)
	first, second := sklearnSplit(len(evaluated), 0.5, 1)
	others := pick(all, evaluated)
	d, err := tsDataset(s, pick(all, trained), pick(others, second), pick(others, first))
	if err == nil {
		src.restrict(d)
	}
	return d, err
}

// numpyPerm returns numpy.random.RandomState(seed).permutation(n).
func numpyPerm(n int, seed uint64) []int {
	mt := prng.NewMT19937()
	mt.Seed(seed)
	r := identity(n)
	for i := n - 1; i > 0; i-- {
		mask := uint32(1)<<bits.Len32(uint32(i)) - 1
		j := mt.Uint32() & mask
		for j > uint32(i) {
			j = mt.Uint32() & mask
		}
		r[i], r[j] = r[j], r[i]
	}
	return r
}

// sklearnSplit splits n examples as scikit-learn's train_test_split. The test part is the fraction
// share, rounded up.
func sklearnSplit(n int, share float64, seed uint64) (test, rest []int) {
	k := int(math.Ceil(share * float64(n)))
	r := numpyPerm(n, seed)
	return r[:k:k], r[k:]
}
