package train

import (
	"errors"
	"fmt"
	"slices"
)

// A Group joins the processes that train one network together (docs/mpi.md). Each process
// is a rank. All ranks call the same methods in the same order, with the same number of shards. If
// a method returns an error, the group cannot be used any more.
type Group interface {
	Rank() int  // of this process, from 0
	Ranks() int // number of processes

	// Gather sets dst to the values of all ranks, in their order. Rank r passes counts[r] values.
	Gather(dst, values []float64, counts []int) error

	// GatherBytes returns the bytes that each rank passes, which may differ in length.
	GatherBytes(data []byte) ([][]byte, error)

	// Sum starts to add vectors over all shards, in the order of package internal/shard, and
	// returns. Each rank passes the sums of the nodes that cover its shards. The vectors belong to
	// the group until Wait, after which the first one is the total.
	Sum(nodes [][]float32, shards int)

	// Wait returns when every sum is complete.
	Wait() error
}

// Agree returns an error on all ranks if err is not nil on one of them: err itself, or on other
// ranks an error that describes it. All ranks must call it. A nil group is one process.
func Agree(g Group, err error) error {
	if g == nil {
		return err
	}
	var text []byte // empty without an error, otherwise its class and its message
	if err != nil {
		class := slices.IndexFunc(agreed, func(class error) bool { return errors.Is(err, class) })
		text = append([]byte{byte(class + 1)}, err.Error()...)
	}
	all, failed := g.GatherBytes(text)
	if failed != nil || err != nil {
		return errors.Join(err, failed)
	}
	for rank, text := range all {
		if len(text) == 0 {
			continue
		}
		remote := remoteError{text: fmt.Sprintf("rank %d: %s", rank, text[1:])}
		if class := int(text[0]); class > 0 && class <= len(agreed) {
			remote.class = agreed[class-1]
		}
		return remote
	}
	return nil
}

// agreed are the classes of errors that Agree preserves, numbered from 1.
var agreed = []error{ErrInterrupted, ErrConfig, ErrData}

// remoteError is an error of another rank.
type remoteError struct {
	text  string
	class error // nil: of none of them
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.class }

// sumFields is the number of values of sums.values.
const sumFields = 7

// values returns the sums as float64 numbers, which are exact.
func (s *sums) values() [sumFields]float64 {
	return [...]float64{float64(s.Examples), float64(s.Terms), s.Loss, float64(s.Correct), s.Squares, s.Power, s.Deviation}
}

// sumsOf is the inverse of sums.values.
func sumsOf(v []float64) sums {
	return sums{Examples: int(v[0]), Terms: int(v[1]), Loss: v[2], Correct: int(v[3]), Squares: v[4], Power: v[5], Deviation: v[6]}
}
