package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/s4d-fast/s4d-fast/atomicfile"
)

// The files of a run folder.
const (
	configFile     = "config.toml"
	metricsFile    = "metrics.jsonl"
	bestFile       = "best.safetensors"
	checkpointFile = "last/checkpoint.safetensors"
)

// createFolder makes the folder of a new run: the one asked for, which must not hold a run yet, or else
// runs/TASK or the first free of runs/TASK-2, runs/TASK-3, …
func createFolder(out, task string) (string, error) {
	if out == "" {
		return nextFolder(filepath.Join("runs", task))
	}
	if err := folderOrNothing(out); err != nil {
		return "", err
	}
	for _, name := range []string{configFile, metricsFile, bestFile, checkpointFile} {
		if _, err := os.Stat(filepath.Join(out, name)); err == nil {
			return "", configErrorf("out: %s already holds a run (%s): resume it or choose another folder", out, name)
		}
	}
	if err := os.MkdirAll(filepath.Join(out, filepath.Dir(checkpointFile)), 0o755); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	return out, nil
}

// folderOrNothing refuses a path at or above which there is a file.
func folderOrNothing(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		return configErrorf("out: %s is no folder", path)
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
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, filepath.Dir(checkpointFile)), 0o755)
		}
		if err != nil {
			return "", fmt.Errorf("train: %w", err)
		}
		return dir, nil
	}
}

// replaceFile writes a file of the run folder; a crash leaves the old one or the new one.
func replaceFile(path string, write func(io.Writer) error) error {
	if err := atomicfile.Write(path, write); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
