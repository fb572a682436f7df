package train

import (
	"fmt"
	"os"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// netOptions sizes the network of one shard for training.
func (t *Trainer) netOptions() convmode.Options {
	return convmode.Options{
		MaxBatch: sequencesPer(t.data.Info) * t.partition.size, MaxLen: t.longest(), Training: true,
		Workers: max(1, t.cfg.Workers/t.partition.count),
	}
}

// checkSize returns an error if this process has too little memory to train, to validate or to test
// the network. It allocates nothing.
func (t *Trainer) checkSize(c model.Config) error {
	training, examples := t.netOptions(), t.data.Val.Len()
	if t.data.Test != nil {
		examples = max(examples, t.data.Test.Len())
	}
	examples = min(examples, t.cfg.Train.Batch)
	evaluation := convmode.Options{MaxBatch: sequencesPer(t.data.Info) * examples, MaxLen: t.data.MaxLen, Workers: t.cfg.Workers}
	for _, o := range []convmode.Options{training, evaluation} {
		if err := o.Validate(c); err != nil {
			return ConfigError(fmt.Errorf("train: %w", err))
		}
	}
	copies := 4 * (4 + t.partition.count) // bytes: weights, those of the best epoch, two moments, and gradients of the shards
	need := float64(c.CountParams()*copies) + float64(t.partition.count)*training.Memory(c) + evaluation.Memory(c)
	return checkMemory(need, "model.d_model %d, train.batch %d, sequences of %d: training", c.DModel, t.cfg.Train.Batch, training.MaxLen)
}

// checkKernels returns an error if the kernels of layers with a fixed length are shorter than the
// sequences. Those of S4 may be in evaluation.
func (t *Trainer) checkKernels(c ssm.Config) error {
	longest := t.data.MaxLen
	if c.Layer == ssm.LayerS4 {
		longest = t.longest()
	}
	if c.FixedLength() && c.LKernel < longest {
		return configErrorf("ssm.l_kernel %d: layer %q expects at least %d, the length of the longest sequence", c.LKernel, c.Layer, longest)
	}
	return nil
}

// checkMemory returns an error if this process may not use so many bytes. The format what and its
// arguments say what they are for.
func checkMemory(need float64, what string, args ...any) error {
	if has := memoryLimit(os.DirFS("/")); has > 0 && need > has {
		return configErrorf("%s takes %.3g GiB of memory, expected at most %.3g, what the machine and its control groups allow", fmt.Sprintf(what, args...), need/(1<<30), has/(1<<30))
	}
	return nil
}
