package train

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// An Exchange joins the processes (ranks) that train one network together (docs/mpi.md). All ranks
// call the same methods in the same order, with slices of equal length. If a method returns an
// error, the Exchange cannot be used any more.
//
// A rank whose trainer returns an error that the others lack must end their calls, which then
// return an error or do not return: cluster/mpi ends the processes.
type Exchange interface {
	Rank() int  // of this process, from 0
	Ranks() int // number of processes, a power of two

	// SumGradients replaces v by its sum over all ranks. Neighbours are added first, then pairs of
	// neighbours and so on: (v0 + v1) + (v2 + v3) for four ranks.
	SumGradients(v []float32) error

	// SumStatistics is SumGradients for sums of float64: those of BatchNorms and of losses.
	SumStatistics(v []float64) error

	// Broadcast returns on all ranks the data of rank 0. The data of the others are ignored.
	Broadcast(data []byte) ([]byte, error)
}

// alone is the Exchange of a single process.
type alone struct{}

func (alone) Rank() int                             { return 0 }
func (alone) Ranks() int                            { return 1 }
func (alone) SumGradients([]float32) error          { return nil }
func (alone) SumStatistics([]float64) error         { return nil }
func (alone) Broadcast(data []byte) ([]byte, error) { return data, nil }

// share sets the state of the other ranks to that of the first, and checks that they have the same
// kernel level and data.
func (t *Trainer) share() error {
	e, level := t.partition.exchange, vek.CurrentLevel()
	if e.Ranks() == 1 {
		return nil
	}
	var checkpoint, best bytes.Buffer
	if e.Rank() == 0 {
		if err := cmp.Or(t.writeCheckpoint(&checkpoint), t.writeBest(&best)); err != nil {
			return err
		}
	}
	parts := [][]byte{[]byte(level), checkpoint.Bytes(), best.Bytes()}
	data, _ := json.Marshal(parts) // of bytes cannot fail
	data, err := e.Broadcast(data)
	if err == nil {
		err = json.Unmarshal(data, &parts)
	}
	if err != nil || e.Rank() == 0 {
		return err
	}
	if first := vek.Level(parts[0]); first != level {
		return configErrorf("level %q: rank 0 has %q, and results differ between levels: select one level for all ranks", level, first)
	}
	f, s, err := parseCheckpoint(bytes.NewReader(parts[1]))
	if err != nil {
		return err
	}
	if err := s.Data.compare(&t.state.Data); err != nil {
		return configErrorf("the data differ from those of rank 0: %w", err)
	}
	if len(parts[2]) > 0 {
		if t.best, err = model.Read(bytes.NewReader(parts[2])); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.restore(f, s)
}
