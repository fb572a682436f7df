package train

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/convmode"
	"github.com/s4d-fast/s4d-fast/model"
)

// netOptions sizes the network of one shard for training.
func (t *Trainer) netOptions() convmode.Options {
	return convmode.Options{
		MaxBatch: sequencesPer(t.data.Info) * t.partition.size, MaxLen: t.longest(), Training: true, Workers: t.cfg.Workers,
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

// checkMemory returns an error if this process may not use so many bytes. The format what and its
// arguments say what they are for.
func checkMemory(need float64, what string, args ...any) error {
	if has := memoryLimit(os.DirFS("/")); has > 0 && need > has {
		return configErrorf("%s takes %.3g GiB of memory, expected at most %.3g, what the machine and its control groups allow", fmt.Sprintf(what, args...), need/(1<<30), has/(1<<30))
	}
	return nil
}

// memoryLimit returns the bytes of memory that this process may use: the lower one of those of the
// machine and of the control groups above the process (version 2). It returns 0 where neither is
// known, as on systems other than Linux. root is the root of the file system.
func memoryLimit(root fs.FS) float64 {
	limit := 0.0
	lower := func(text string, unit float64) {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && (limit == 0 || unit*v < limit) {
			limit = unit * v
		}
	}
	for line := range lines(root, "proc/meminfo") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			lower(f[1], 1024)
		}
	}
	for line := range lines(root, "proc/self/cgroup") {
		group, ok := strings.CutPrefix(line, "0::")
		// In a container the path may be the host's while the mount is the container's: its root
		// counts too.
		for group = path.Join("/", group); ok; group = path.Dir(group) {
			for text := range lines(root, path.Join("sys/fs/cgroup", group, "memory.max")) {
				lower(text, 1) // "max" is not a number
			}
			ok = group != "/"
		}
	}
	return limit
}

// lines iterates over the lines of a file, none if it cannot be read.
func lines(root fs.FS, name string) iter.Seq[string] {
	text, _ := fs.ReadFile(root, name)
	return strings.SplitSeq(string(text), "\n")
}
