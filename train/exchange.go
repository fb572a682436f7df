package train

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// An Exchange joins the processes (ranks) that train one network together (docs/mpi.md). All ranks
// call the same methods in the same order, with slices of equal length. If a method returns an
// error, the Exchange cannot be used any more.
type Exchange interface {
	Rank() int  // of this process, from 0
	Ranks() int // number of processes, a power of two

	// SumGradients replaces v by its sum over all ranks. Neighbours are added first, then pairs of
	// neighbours and so on: (v0 + v1) + (v2 + v3) for four ranks.
	SumGradients(v []float32) error

	// SumStatistics is SumGradients for sums of float64: those of BatchNorms and of losses.
	SumStatistics(v []float64) error

	// Broadcast returns on all ranks the data of one of them. The data of the others are ignored.
	Broadcast(from int, data []byte) ([]byte, error)
}

// Agree returns an error on all ranks if err is not nil on one of them: err itself, or on other
// ranks an error that describes it. All ranks must call it. A nil Exchange is one process.
func Agree(e Exchange, err error) error {
	_, err = agree(e, err, 0)
	return err
}

// agree is Agree. Without an error it returns the largest of the values of all ranks.
func agree(e Exchange, err error, value float64) (largest float64, _ error) {
	if e == nil {
		return value, err
	}
	const none = 0 // otherwise 1 + the index of the error's class
	own := []float64{none, value}
	if err != nil {
		own[0] = float64(2 + slices.IndexFunc(errorClasses, func(class error) bool { return errors.Is(err, class) }))
	}
	all, failed := gather(e, own)
	if failed != nil {
		return 0, errors.Join(err, failed)
	}
	for i := 0; i < len(all); i += 2 {
		if all[i] == none {
			largest = max(largest, all[i+1])
			continue
		}
		var text []byte
		if err != nil {
			text = []byte(err.Error())
		}
		text, failed := e.Broadcast(i/2, text)
		if failed != nil || err != nil {
			return 0, errors.Join(err, failed)
		}
		remote := remoteError{text: fmt.Sprintf("rank %d: %s", i/2, text)}
		if class := int(all[i]) - 2; class >= 0 {
			remote.class = errorClasses[class]
		}
		return 0, remote
	}
	return largest, nil
}

// errorClasses are the classes of errors that Agree preserves.
var errorClasses = []error{ErrInterrupted, ErrConfig, ErrData}

// remoteError is an error of another rank.
type remoteError struct {
	text  string
	class error // nil: of none of them
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.class }

// gather returns the values of all ranks in their order. Every rank passes equally many.
func gather(e Exchange, own []float64) ([]float64, error) {
	if e == nil {
		return own, nil
	}
	all := make([]float64, e.Ranks()*len(own))
	copy(all[e.Rank()*len(own):], own)
	if err := e.SumStatistics(all); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return all, nil
}

// share sets the state of the other ranks to that of the first, and checks that they have the same
// kernel level and data.
func (t *Trainer) share() error {
	e := t.partition.exchange
	own := string(vek.CurrentLevel())
	level, err := e.Broadcast(0, []byte(own))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	var checkpoint, best bytes.Buffer // of rank 0
	if e.Rank() == 0 {
		f, err := t.checkpointData()
		if err == nil {
			_, err = f.WriteTo(&checkpoint)
		}
		if err == nil && t.best != nil {
			_, err = t.best.WriteTo(&best)
		}
		if err != nil {
			return err
		}
	}
	for _, b := range []*bytes.Buffer{&checkpoint, &best} {
		data, err := e.Broadcast(0, b.Bytes())
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		*b = *bytes.NewBuffer(data)
	}
	if e.Rank() == 0 {
		return nil
	}
	if own != string(level) {
		return configErrorf("level %q: rank 0 has %q, and results differ between levels: select one level for all ranks", own, level)
	}
	f, err := safetensors.Read(&checkpoint)
	if err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	s, err := stateOf(f)
	if err == nil {
		if e := s.Data.compare(&t.fingerprint); e != nil {
			return configErrorf("the data differ from those of rank 0: %w", e)
		}
		err = t.restore(f, s)
	}
	if err == nil && best.Len() > 0 {
		t.best, err = model.Read(&best)
	}
	if err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	return nil
}
