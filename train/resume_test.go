package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/random"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestResumeIsBitEqual(t *testing.T) {
	whole := fit(t, tiny(t))
	steps := whole.plan.total
	draw := random.New(9, random.Noise, 0, 0)
	for i := range 4 {
		stop := 1 + int(draw.Uint64(uint64(i))%uint64(steps))
		if i == 0 {
			stop = 2 * whole.plan.perEpoch // before the validation of an epoch
		}
		again := reload(t, stopped(t, tiny(t), stop))
		sameRun(t, fmt.Sprint("stopped at step ", stop), whole, fit(t, again))
	}
}

// An epoch may pass over the training set several times, each time in another order and with other
// data: two epochs of two passes give the weights of four epochs. A run resumes within an epoch.
func TestEpochSteps(t *testing.T) {
	whole := fit(t, tiny(t))
	cfg := tiny(t, "train.epochs=2")
	cfg.data = echoData(cfg.Config)
	cfg.data.EpochSteps = 6 // a pass has 5
	again := fit(t, reload(t, stopped(t, cfg, 7)))
	sameWeights(t, "two passes per epoch", whole.model.Weights, again.model.Weights)
	must.Equal(t, len(metricsOf(t, again.run.Dir)), 2, "epochs")
}

// A finished run can be resumed with a larger budget. Other values cannot change.
func TestResumeAndChange(t *testing.T) {
	cfg := tiny(t, "optim.schedule=constant", "train.epochs=2")
	fit(t, cfg)
	more := reload(t, cfg)
	more.Train.Epochs = 4
	sameRun(t, "prolonged", fit(t, tiny(t, "optim.schedule=constant")), fit(t, more))

	steps := more
	steps.Train.MaxSteps = 7
	must.Reject(start(t.Context(), steps))(t, ErrConfig, "train.max_steps: there 0, here 7")
	more.Optim.LR = 0.5
	must.Reject(start(t.Context(), more))(t, ErrConfig, "optim.lr: there 0.01, here 0.5")
}

// Folders that models do not record may move between an interrupt and the resumption.
func TestResumeMovedFolders(t *testing.T) {
	cfg := tiny(t, "train.max_steps=4")
	portable := maps.Clone(cfg.Data)
	moved := func(r run, folder string, size int64) run {
		r.data = echoData(cfg.Config)
		r.data.Options = maps.Clone(portable)
		r.data.Options["size"] = size
		r.Data = maps.Clone(r.data.Options)
		r.Data["background"] = []any{folder}
		return r
	}
	fit(t, moved(cfg, "/old/street", 5))
	cfg.Resume = true
	must.Get(start(t.Context(), moved(cfg, "/new/street", 5)))(t).Close()
	must.Reject(start(t.Context(), moved(cfg, "/new/street", 6)))(t, ErrConfig, "data.size: there 5, here 6")
}

// tripwire is a set that calls trip before it returns an example.
type tripwire struct {
	dataset.Set
	trip func()
}

func (s tripwire) Example(e *dataset.Example, i, epoch int) error {
	s.trip()
	return s.Set.Example(e, i, epoch)
}

// An interrupt during an evaluation writes a checkpoint from before it. A resumed run evaluates
// again.
func TestInterruptedEvaluation(t *testing.T) {
	for name, wire := range map[string]func(tr *Trainer, trip func()){
		"validation": func(tr *Trainer, trip func()) { tr.data.Val = tripwire{tr.data.Val, trip} },
		"test":       func(tr *Trainer, trip func()) { tr.data.Test = tripwire{tr.data.Val, trip} },
	} {
		whole := fit(t, tiny(t, "train.max_steps=20"))
		cfg := tiny(t, "train.max_steps=20")
		first := newTrainer(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		wire(first, func() {
			if first.Step() == 20 {
				cancel()
			}
		})
		must.Fail(t, first.Fit(ctx), ErrInterrupted)
		first.Close()
		again := reload(t, cfg)
		sameRun(t, name, whole, fit(t, again))
	}
}

func TestCheckpointEvery(t *testing.T) {
	cfg := tiny(t, "train.checkpoint_every=3")
	tr := newTrainer(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var steps []int
	tr.reporter = (spy{func(Progress) {
		st, err := diskState(tr.run.path(checkpointFile))
		if err != nil {
			t.Error(err)
		}
		steps = append(steps, st.Step)
		if len(steps) == 7 {
			cancel()
		}
	}})
	must.Fail(t, tr.Fit(ctx), ErrInterrupted)
	if want := []int{0, 0, 0, 3, 3, 5, 6}; !slices.Equal(steps, want) {
		t.Errorf("checkpoints seen after steps 1, 2, …: of steps %v, expected %v", steps, want)
	}
}

// Without a run folder an interrupted Fit goes on when it is called again, and nothing is written.
func TestFitAgainWithoutFolder(t *testing.T) {
	cfg := tiny(t)
	t.Chdir(t.TempDir())
	whole := must.Get(New(t.Context(), cfg.Config, echoData(cfg.Config), Options{}))(t)
	must.Do(t, whole.Fit(t.Context()))
	again := must.Get(New(t.Context(), cfg.Config, echoData(cfg.Config), Options{}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	again.reporter = stopAt(8, cancel)
	if err := again.Fit(ctx); !errors.Is(err, ErrInterrupted) || again.Step() != 8 {
		t.Fatalf("error %v after step %d, expected ErrInterrupted after step 8", err, again.Step())
	}
	if again.BestEpoch().Epoch != 1 || again.Best() == nil {
		t.Errorf("best epoch %+v, expected the first", again.BestEpoch())
	}
	early := again.Best()
	before := early.Hash()
	again.reporter = silent{}
	must.Do(t, again.Fit(t.Context()))
	sameWeights(t, "interrupted", whole.model.Weights, again.model.Weights)
	sameWeights(t, "interrupted, best", whole.Best().Weights, again.Best().Weights)
	must.Equal(t, early.Hash(), before, "hash of the model that Best returned earlier")
	must.Equal(t, len(must.Get(os.ReadDir("."))(t)), 0, "files that were written")
	must.Do(t, again.Close())
	must.Reject(New(t.Context(), cfg.Config, echoData(cfg.Config), Options{Resume: true}))(t, ErrConfig, "no run folder")
}

// Saved is called after each checkpoint. Its error ends Fit, and the run can be resumed.
func TestSaved(t *testing.T) {
	failed := errors.New("no space elsewhere")
	dir, calls := t.TempDir(), 0
	opt := Options{Dir: dir, Saved: func() error {
		if calls++; calls == 2 {
			return failed
		}
		return nil
	}}
	cfg := tiny(t).Config
	tr := must.Get(New(t.Context(), cfg, echoData(cfg), opt))(t)
	must.Fail(t, tr.Fit(t.Context()), failed)
	must.Do(t, tr.Close())
	opt.Resume = true
	tr = must.Get(New(t.Context(), cfg, echoData(cfg), opt))(t)
	defer tr.Close()
	must.Do(t, tr.Fit(t.Context()))
	must.Equal(t, calls, cfg.Train.Epochs, "calls")
}
