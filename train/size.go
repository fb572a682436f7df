package train

import (
	"fmt"
	"os"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
)

// netOptions sizes the network for training.
func (t *Trainer) netOptions() convmode.Options {
	return convmode.Options{
		MaxBatch: sequencesPer(t.data.Info) * t.cfg.Train.Batch, MaxLen: t.longest(), Workers: t.cfg.Workers, Training: true,
	}
}

// checkSize returns an error if this machine has too little memory to train or to validate the
// network. It allocates nothing.
func (t *Trainer) checkSize(c model.Config) error {
	training := t.netOptions()
	evaluation := convmode.Options{
		MaxBatch: sequencesPer(t.data.Info) * min(t.cfg.Train.EvalBatch, t.data.Val.Len()), MaxLen: t.data.MaxLen, Workers: t.cfg.Workers,
	}
	for _, o := range []convmode.Options{training, evaluation} {
		if err := o.Validate(c); err != nil {
			return configError{fmt.Errorf("train: %w", err)}
		}
	}
	const copies = 4 * 4 // bytes: weights, gradients and two moments
	need := float64(c.CountParams())*copies + training.Memory(c) + evaluation.Memory(c)
	return checkMemory(need, "model.d_model %d, train.batch %d, sequences of %d: training", c.DModel, training.MaxBatch, training.MaxLen)
}

// checkMemory returns an error if this process may not use so many bytes; what and its arguments
// describe their use.
func checkMemory(need float64, what string, args ...any) error {
	if has := memoryLimit(os.DirFS("/")); has > 0 && need > has {
		return configErrorf("%s takes %.3g GiB of memory, expected at most %.3g (of the machine or its control group)", fmt.Sprintf(what, args...), need/(1<<30), has/(1<<30))
	}
	return nil
}
