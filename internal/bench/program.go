package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/level"
)

// Main parses the flags of a program that measures, selects the level of S4D_LEVEL and runs the
// program. An error, also of a level that is not available, ends it.
func Main(name string, run func(ctx context.Context) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := level.Set("")
	if err == nil {
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Numbers are the value of a flag: whole numbers above 0, separated by commas.
type Numbers []int

// String implements flag.Value.
func (n *Numbers) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(*n), "[]"), " ", ",")
}

// Set implements flag.Value.
func (n *Numbers) Set(text string) error {
	*n = nil
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.Atoi(word)
		if err != nil || v < 1 {
			return errors.New("expected numbers above 0, such as 1,16,50")
		}
		*n = append(*n, v)
	}
	return nil
}

// Noise returns n standard normal numbers.
func Noise(n int, seed uint64) []float32 {
	r := random.New(seed, random.Signal, 0, 0)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.Normal(uint64(i)))
	}
	return x
}

// Median returns the median of x. It sorts x.
func Median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
