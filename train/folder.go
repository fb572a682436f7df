package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// The files of a run folder.
const (
	configFile     = "config.toml"
	metricsFile    = "metrics.jsonl"
	bestFile       = "best.safetensors"
	checkpointFile = "last/checkpoint.safetensors"
	previousFile   = "last/previous.safetensors" // the checkpoint before it
	lockFile       = "last/lock"                 // locked while a Trainer is open
)

// createFolder makes and locks the folder of a new run: the one of the configuration, which must
// not hold a run, or the first free one of runs/TASK, runs/TASK-2, runs/TASK-3, …
func (t *Trainer) createFolder() (err error) {
	if t.cfg.Out == "" {
		t.dir, err = nextFolder(filepath.Join("runs", t.cfg.Task))
		return errors.Join(err, t.lock())
	}
	t.dir = t.cfg.Out
	if err := checkFolder(t.dir); err != nil {
		return err
	}
	if err := t.holdsNoRun(); err != nil {
		return err
	}
	if err := t.lock(); err != nil {
		return err
	}
	return t.holdsNoRun() // another process may have begun one before the lock
}

// holdsNoRun reports the first file of a run in the folder as an error.
func (t *Trainer) holdsNoRun() error {
	for _, name := range []string{configFile, metricsFile, bestFile, checkpointFile, previousFile} {
		if _, err := os.Stat(t.path(name)); err == nil {
			return configErrorf("out: %s already holds a run (%s): resume it or choose another folder", t.dir, name)
		}
	}
	return nil
}

// checkFolder reports a path at or above which there is a file.
func checkFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		return configErrorf("out: %s is not a folder", path)
	}
	return nil
}

func nextFolder(base string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		err := os.Mkdir(dir, 0o755) // of two runs that start at once, one gets the next number
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("train: %w", err)
		}
		return dir, nil
	}
}

// lock locks the run folder for this Trainer and removes what a crash left there. The system
// releases the lock of a process that ends.
func (t *Trainer) lock() error {
	last := filepath.Dir(t.path(lockFile))
	if err := os.MkdirAll(last, 0o755); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	t.locked = flock.New(t.path(lockFile))
	switch ok, err := t.locked.TryLock(); {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
		t.warn("%s cannot be locked on its file system: do not train in it with another process", t.dir)
	case err != nil:
		return fmt.Errorf("train: %w", err)
	case !ok:
		return configErrorf("out: another process trains in %s: wait until it ends or choose another folder", t.dir)
	}
	for _, dir := range []string{t.dir, last} {
		if err := atomicfile.RemoveTemporary(dir); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}

// Close releases the run folder to other processes and trainers. The results can be read
// afterwards.
func (t *Trainer) Close() error {
	if t.locked == nil {
		return nil
	}
	return t.locked.Close()
}

// replaceFile writes a file of the run folder. After a crash it is the old one or the new one.
func replaceFile(path string, write func(io.Writer) error) error {
	if err := atomicfile.Write(path, 0o666, write); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
