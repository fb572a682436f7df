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

// After each epoch a worker reports the result of the validation, which the coordinator shows. It
// keeps the result until the next one.
func TestReportResult(t *testing.T) {
	st := stored(t, entry{Status: queued})
	messages := must.Get(st.nc.SubscribeSync(progressOf + testKey[:16]))(t)
	r := &run{Worker: &Worker{Name: "a", store: st}, job: &job{Sweep: testKey[:16]}}
	p := &progress{run: r, log: train.LogLines(logger(t))}
	accuracy := 0.625
	p.Begin(train.Progress{Step: 0, Steps: 30, Epoch: 1, Epochs: 3})
	p.Epoch(train.Metrics{Epoch: 1, Step: 10, ValAccuracy: &accuracy}, true)
	s := &sweep{Coordinator: &Coordinator{}, open: map[int]bool{0: true}, state: []Status{{State: running, Worker: "a"}}}
	for _, want := range []Status{
		{State: running, Worker: "a", Steps: 30, Epoch: 1, Epochs: 3},
		{State: running, Worker: "a", Step: 10, Steps: 30, Epoch: 1, Epochs: 3, Result: "accuracy 62.5 %"},
	} {
		m := must.Get(messages.NextMsgWithContext(t.Context()))(t)
		s.report(m.Data)
		must.Equal(t, s.state[0], want, "status")
	}
	s.report([]byte(`{"worker":"a","step":11,"steps":30,"epoch":2,"epochs":3}`))
	must.Equal(t, s.state[0].Result, "accuracy 62.5 %", "result in the second epoch")
	s.note(0, entry{Status: running, Worker: "b"})
	must.Equal(t, s.state[0].Result, "", "result of another worker's attempt")
}
