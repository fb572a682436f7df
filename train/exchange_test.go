package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

var errLost = errors.New("a rank is lost")

// meeting is where ranks that are goroutines meet.
type meeting struct {
	mu    sync.Mutex
	turn  *sync.Cond
	given []any
	count int
	round int
	all   []any
	lost  bool
}

// leave makes the calls of all others fail.
func (m *meeting) leave() {
	m.mu.Lock()
	m.lost = true
	m.turn.Broadcast()
	m.mu.Unlock()
}

// meet returns what every rank has passed.
func (m *meeting) meet(rank int, v any) ([]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	round := m.round
	m.given[rank] = v
	if m.count++; m.count == len(m.given) {
		m.all, m.count, m.round = slices.Clone(m.given), 0, round+1
		m.turn.Broadcast()
	}
	for m.round == round && !m.lost {
		m.turn.Wait()
	}
	if m.round == round {
		return nil, errLost
	}
	return m.all, nil
}

// member is the Exchange of one rank.
type member struct {
	*meeting
	rank int
}

func (m member) Rank() int                       { return m.rank }
func (m member) Ranks() int                      { return len(m.given) }
func (m member) SumGradients(v []float32) error  { return sumOver(m, v) }
func (m member) SumStatistics(v []float64) error { return sumOver(m, v) }

// sumOver is the sum of four ranks at most.
func sumOver[T float32 | float64](m member, v []T) error {
	all, err := m.meet(m.rank, slices.Clone(v))
	if err != nil {
		return err
	}
	at := func(rank, i int) T { return all[rank].([]T)[i] }
	for i := range v {
		switch v[i] = at(0, i); m.Ranks() {
		case 2:
			v[i] += at(1, i)
		case 4:
			v[i] = (v[i] + at(1, i)) + (at(2, i) + at(3, i))
		}
	}
	return nil
}

func (m member) Broadcast(data []byte) ([]byte, error) {
	all, err := m.meet(m.rank, slices.Clone(data))
	if err != nil {
		return nil, err
	}
	return all[0].([]byte), nil
}

// together runs f for every rank at the same time, and returns the errors. If f fails on a rank, it
// leaves the group.
func together(ranks int, f func(e Exchange) error) []error {
	m, errs := &meeting{given: make([]any, ranks)}, make([]error, ranks)
	m.turn = sync.NewCond(&m.mu)
	var wait sync.WaitGroup
	for r := range ranks {
		wait.Go(func() {
			if errs[r] = f(member{m, r}); errs[r] != nil {
				m.leave()
			}
		})
	}
	wait.Wait()
	return errs
}

// fitTogether trains on some ranks and returns the trainers.
func fitTogether(t *testing.T, ranks int, r run) []*Trainer {
	t.Helper()
	list := make([]*Trainer, ranks)
	for _, err := range together(ranks, func(e Exchange) (err error) {
		list[e.Rank()], err = fitRank(t.Context(), e, r, nil)
		return err
	}) {
		must.Do(t, err)
	}
	return list
}

// fitRank trains as one rank. change may modify the trainer before.
func fitRank(ctx context.Context, e Exchange, r run, change func(*Trainer)) (*Trainer, error) {
	data := r.data
	if data == nil {
		data = echoData(r.Config)
	}
	tr, err := New(ctx, r.Config, data, Options{Dir: r.Out, Resume: r.Resume, Exchange: e})
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	if change != nil {
		change(tr)
	}
	return tr, tr.Fit(ctx)
}

// The number of ranks changes no bit of a run, and only rank 0 writes.
func TestRanks(t *testing.T) {
	for name, sets := range map[string][]string{
		"batch norm":     {},
		"pre-norm":       {"model.prenorm=true", "model.final_norm=true"},
		"layer norm":     {"model.norm=layer"},
		"no norm":        {"model.norm=none"},
		"S5":             {"ssm.layer=s5", "ssm.init=legs", "ssm.disc=zoh", "ssm.dt_min=0.01", "ssm.dt_max=0.1", "ssm.xi_min=0", "ssm.xi_max=0"},
		"frozen encoder": {"optim.freeze=[\"encoder\"]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tiny(t, append([]string{"train.shards=4", "train.epochs=3"}, sets...)...)
			one := fit(t, r)
			for _, ranks := range []int{1, 2, 4} {
				of := r
				of.Out = filepath.Join(t.TempDir(), "run")
				all := fitTogether(t, ranks, of)
				sameRun(t, fmt.Sprintf("%d ranks", ranks), one, all[0])
				for _, tr := range all[1:] {
					sameWeights(t, "another rank", one.model.Weights, tr.model.Weights)
					sameWeights(t, "another rank, best", one.best.Weights, tr.best.Weights)
					must.Equal(t, tr.Dir(), "", "folder of another rank")
				}
			}
		})
	}
}

// An interrupt of any rank stops all of them after the same step. Another number of ranks resumes.
func TestResumeOnOtherRanks(t *testing.T) {
	sets := []string{"train.shards=4"}
	whole := fit(t, tiny(t, sets...))
	r := tiny(t, sets...)
	for i, ranks := range []int{4, 1, 2, 4} {
		resumed := r
		if i > 0 {
			resumed = reload(t, r)
		}
		for _, err := range together(ranks, func(e Exchange) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := fitRank(ctx, e, resumed, func(tr *Trainer) {
				if e.Rank() == ranks-1 {
					tr.reporter = stopAt(4*i+4, cancel)
				}
			})
			if errors.Is(err, ErrInterrupted) {
				return nil
			}
			return errors.Join(err, errors.New("not interrupted"))
		}) {
			must.Do(t, err)
		}
	}
	again := reload(t, r)
	st, err := diskState(filepath.Join(r.Out, checkpointFile))
	must.Do(t, err)
	must.Equal(t, st.Step, 16, "steps before the last resumption")
	sameRun(t, "four interruptions", whole, fitTogether(t, 2, again)[0])
}

// When a rank is lost within a step, Checkpoint on rank 0 writes the last complete step.
func TestLostRank(t *testing.T) {
	whole := fit(t, tiny(t, "train.shards=2"))
	r := tiny(t, "train.shards=2")
	errs := together(2, func(e Exchange) error {
		steps := 0
		tr, err := fitRank(t.Context(), e, r, func(tr *Trainer) {
			tr.data.Train = counted{tr.data.Train, &steps}
			if e.Rank() == 1 {
				tr.partition.exchange = &leaver{Exchange: e, left: 23}
			}
		})
		if e.Rank() == 0 && err != nil {
			must.Do(t, tr.Checkpoint())
		}
		return err
	})
	must.Fail(t, errs[0], errLost)
	must.Fail(t, errs[1], errLost)
	st, err := diskState(filepath.Join(r.Out, checkpointFile))
	must.Do(t, err)
	if st.Step == 0 || st.Step >= whole.plan.total {
		t.Errorf("checkpoint of step %d, expected one within the run", st.Step)
	}
	sameRun(t, "resumed", whole, fitTogether(t, 2, reload(t, r))[0])
}

// counted counts the calls of Example.
type counted struct {
	dataset.Set
	calls *int
}

func (s counted) Length(int) int { return s.Set.Length(0) }

// leaver is an Exchange whose rank is lost after some sums.
type leaver struct {
	Exchange
	left int
}

func (l *leaver) SumStatistics(v []float64) error {
	if l.left--; l.left < 0 {
		return errLost
	}
	return l.Exchange.SumStatistics(v)
}

// An error of one rank ends the run on all of them.
func TestErrorsOfRanks(t *testing.T) {
	for name, c := range map[string]struct {
		rank   int // that has the error
		change func(r *run)
		broken bool
		want   []any
	}{
		"folder": {0, func(r *run) { r.Resume = true }, false, []any{ErrConfig, "contains no run"}},
		"data":   {1, func(r *run) { r.data.Train = echo{n: 20, length: 47, delay: 7} }, false, []any{ErrConfig, "differ from those of rank 0"}},
		"shards": {1, func(r *run) { r.Config.Train.Shards = 1 }, false, []any{ErrConfig, "train.shards 1: expected at least 2"}},
		"read":   {1, func(*run) {}, true, []any{ErrData, "unreadable"}},
	} {
		r := tiny(t, "train.shards=2")
		errs := together(2, func(e Exchange) error {
			own := r
			own.data = echoData(r.Config)
			own.data.Train = echo{n: 20, length: 48, delay: 7}
			if e.Rank() == c.rank {
				c.change(&own)
			}
			_, err := fitRank(t.Context(), e, own, func(tr *Trainer) {
				if c.broken && e.Rank() == c.rank {
					tr.data.Train = broken{tr.data.Train}
				}
			})
			return err
		})
		must.Fail(t, errs[c.rank], c.want...)
		if !errors.Is(errs[1-c.rank], errLost) {
			t.Errorf("%s: the other rank has error %v, expected that of the exchange", name, errs[1-c.rank])
		}
	}
}

// broken is a set whose examples cannot be read.
type broken struct{ dataset.Set }

func (broken) Example(*dataset.Example, int, int) error { return errors.New("unreadable") }

// Batches of different lengths and losses per position with NaN targets agree between ranks.
func TestRanksOfUnequalLengths(t *testing.T) {
	const n = 24
	info := dataset.Info{Name: "words", Channels: 1, Outputs: 3, MaxLen: 40}
	split := func(from int) (list []dataset.Example) {
		for i := range n {
			e := dataset.Example{Len: 8 + (i*7+from)%33, Label: i % 3}
			for l := range e.Len {
				e.X = append(e.X, float32((i*l*5+from)%11)-5)
			}
			list = append(list, e)
		}
		return list
	}
	data := must.Get(dataset.FromSlices(info, split(0), split(3), split(5)))(t)
	r := tuned(t, data, "train.shards=4", "train.batch=8", "optim.lr=0.001")
	one := fit(t, r)
	r.Out = "" // no run folder
	all := fitTogether(t, 4, r)
	sameWeights(t, "last", one.model.Weights, all[0].model.Weights)
	sameWeights(t, "best", one.best.Weights, all[2].best.Weights)
	must.Equal(t, all[2].Test().Loss, one.Test().Loss, "test loss")
}

// Checkpoints that another goroutine writes at any time, also when a rank is stopped during the
// validation, are those of complete steps.
func TestCheckpointDuringFit(t *testing.T) {
	whole := fit(t, tiny(t, "train.shards=2"))
	r := tiny(t, "train.shards=2")
	var seen []int
	for _, err := range together(2, func(e Exchange) error {
		var wait sync.WaitGroup
		defer wait.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := fitRank(ctx, e, r, func(tr *Trainer) {
			if e.Rank() == 1 {
				tr.data.Val = tripwire{tr.data.Val, func() {
					if tr.Step() == 10 {
						cancel()
					}
				}}
				return
			}
			wait.Go(func() {
				for ctx.Err() == nil {
					err := tr.Checkpoint()
					s, e := diskState(tr.run.path(checkpointFile))
					if err := errors.Join(err, e); err != nil {
						t.Error(err)
						return
					}
					seen = append(seen, s.Step)
				}
			})
		})
		if !errors.Is(err, ErrInterrupted) {
			return fmt.Errorf("error %v, expected ErrInterrupted", err)
		}
		return nil
	}) {
		must.Do(t, err)
	}
	if !slices.IsSorted(seen) {
		t.Errorf("steps %v, expected them to rise", seen)
	}
	sameRun(t, "resumed", whole, fitTogether(t, 2, reload(t, r))[0])
}
