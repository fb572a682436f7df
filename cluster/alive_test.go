package cluster

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// Every batch of a validation counts as a sign of life, for as long as the validation takes.
func TestValidationIsAlive(t *testing.T) {
	s := stored(t, entry{Status: queued})
	r, tr := begun(t, s, "train.epochs=1", "train.eval_batch=1")
	must.Do(t, tr.Close())
	must.Do(t, os.RemoveAll(r.runDir()))
	r.began = time.Now().Add(-time.Hour)
	slow := &slowSet{renew: func() error { return r.renew(t.Context(), renewed{}) }, silent: func() { r.active.Store(0) }}
	r.Load = func(ctx context.Context, c train.Config) (*dataset.Dataset, error) {
		d, err := loadTask(ctx, c)
		if err == nil {
			slow.Set, d.Val = d.Val, slow
		}
		return d, err
	}
	must.Do(t, r.train(t.Context()))
	must.Equal(t, slow.loaded, 16, "loaded validation examples")
	must.Equal(t, slow.stalled, 0, "examples before which the run counted as stalled")
}

// slowSet is a set that takes longer than Worker.Stall for each third example. The loader reads the
// example after the next one only when the network has evaluated this one.
type slowSet struct {
	dataset.Set
	silent          func()
	renew           func() error
	loaded, stalled int
}

func (s *slowSet) Example(e *dataset.Example, i, epoch int) error {
	switch s.loaded++; s.loaded % 3 {
	case 1:
		s.silent()
	case 0:
		if errors.Is(s.renew(), errStall) {
			s.stalled++
		}
	}
	return s.Set.Example(e, i, epoch)
}

// renewed is a message that can only be renewed.
type renewed struct{ jetstream.Msg }

func (renewed) InProgress() error { return nil }
