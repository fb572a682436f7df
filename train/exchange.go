package train

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

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

// collect returns the values of all ranks in their order, as package gob copies them.
func collect[T any](e Exchange, own T) ([]T, error) {
	all := make([]T, e.Ranks())
	for rank := range all {
		all[rank] = own
		if err := spread(e, rank, &all[rank]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// spread sets the value on all ranks to that of one of them.
func spread[T any](e Exchange, from int, v *T) error {
	var data bytes.Buffer
	if e.Rank() == from {
		if err := gob.NewEncoder(&data).Encode(v); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	b, err := e.Broadcast(from, data.Bytes())
	if err == nil && e.Rank() != from {
		*v = *new(T)
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(v)
	}
	if err != nil {
		return fmt.Errorf("train: rank %d: %w", from, err)
	}
	return nil
}

// share sets the state of the other ranks to that of the first, and checks that they have the same
// kernel level and data.
func (t *Trainer) share() error {
	e := t.partition.exchange
	var checkpoint, best bytes.Buffer
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
	level := vek.CurrentLevel()
	first := struct {
		Level            vek.Level
		Checkpoint, Best []byte
	}{level, checkpoint.Bytes(), best.Bytes()}
	if err := spread(e, 0, &first); err != nil || e.Rank() == 0 {
		return err
	}
	if first.Level != level {
		return configErrorf("level %q: rank 0 has %q, and results differ between levels: select one level for all ranks", level, first.Level)
	}
	f, s, err := parseCheckpoint(bytes.NewReader(first.Checkpoint))
	if err == nil {
		if e := s.Data.compare(&t.fingerprint); e != nil {
			return configErrorf("the data differ from those of rank 0: %w", e)
		}
		err = t.restore(f, s)
	}
	if err == nil && len(first.Best) > 0 {
		t.best, err = model.Read(bytes.NewReader(first.Best))
	}
	if err != nil {
		return dataError{fmt.Errorf("train: the state of rank 0: %w", err)}
	}
	return nil
}
