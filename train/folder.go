package train

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
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

// RunFiles returns the files of a run folder from which a run can be resumed, with slashes: the
// configuration first and the checkpoint last. A run that has just begun lacks some of them.
func RunFiles() []string { return []string{configFile, bestFile, metricsFile, checkpointFile} }

// createFolder makes and locks the folder of a new run: Dir, which must not hold a run, or the
// first of Dir, Dir-2, Dir-3, … that does not exist.
func (t *Trainer) createFolder(opt Options) (err error) {
	if opt.Numbered {
		if t.dir, err = nextFolder(t.files, opt.Dir); err != nil {
			return err
		}
		return t.lock()
	}
	t.dir = opt.Dir
	if err := holdsNoRun(t.files, t.dir); err != nil {
		return err
	}
	if err := t.lock(); err != nil {
		return err
	}
	return holdsNoRun(t.files, t.dir) // another process may have begun one before the lock
}

// CheckFolder returns the error with which New rejects a folder for a new run because of what is
// in it: a run or files of one, or a file in place of the folder. A program that loads data for
// long calls it before. It makes no folder.
func CheckFolder(dir string) error { return holdsNoRun(atomicfile.System(), dir) }

// holdsNoRun returns an error if the folder contains a file of a run. If the configuration is
// missing, the error says that the run cannot be resumed.
func holdsNoRun(files atomicfile.Files, dir string) error {
	if err := checkFolder(files, dir); err != nil {
		return err
	}
	var found string
	for _, name := range []string{configFile, metricsFile, bestFile, checkpointFile, previousFile} {
		switch _, err := files.Stat(filepath.Join(dir, filepath.FromSlash(name))); {
		case err == nil && name == configFile:
			return configErrorf("out: %s already holds a run: resume it or choose another folder", dir)
		case err == nil && found == "":
			found = name
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("train: %w", err)
		}
	}
	if found != "" {
		return configErrorf("out: %s contains %s of a run that cannot be resumed, because %s is missing: "+
			"remove the folder or choose another one", dir, found, configFile)
	}
	return nil
}

// checkFolder reports a path at or above which there is a file.
func checkFolder(files atomicfile.Files, path string) error {
	info, err := files.Stat(path)
	if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		return configErrorf("out: %s is not a folder", path)
	}
	return nil
}

func nextFolder(files atomicfile.Files, base string) (string, error) {
	if err := files.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	for n := 1; ; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		err := files.Mkdir(dir, 0o755) // of two runs that start at once, one gets the next number
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = files.SyncFolder(filepath.Dir(dir))
		}
		if err != nil {
			return "", fmt.Errorf("train: %w", err)
		}
		return dir, nil
	}
}

// lock locks the run folder for this Trainer and removes what a crash left of the run's files.
func (t *Trainer) lock() (err error) {
	if t.locked, err = lockFolder(t.files, t.dir, lockFile); err != nil {
		return err
	}
	if t.locked != nil && !t.locked.Locked() {
		t.warn("%s cannot be locked on its file system: do not train in it with another process", t.dir)
	}
	files := []string{configFile, metricsFile, bestFile, checkpointFile}
	for i, name := range files {
		files[i] = t.path(name)
	}
	if err := t.files.RemoveTemporary(files...); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// lockFolder locks a folder by a file in it, as filelock.Try does. The result is nil if the file
// system is not that of the operating system, because no other process can use it.
func lockFolder(files atomicfile.Files, dir, name string) (*flock.Flock, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := files.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if files != atomicfile.System() {
		return nil, nil
	}
	l, err := filelock.Try(path)
	switch {
	case errors.Is(err, filelock.ErrLocked):
		return nil, configErrorf("out: another process trains in %s: wait until it ends or choose another folder", dir)
	case err != nil:
		return nil, fmt.Errorf("train: %w", err)
	}
	return l, nil
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
func replaceFile(files atomicfile.Files, path string, write func(io.Writer) error) error {
	if err := files.Write(path, 0o666, write); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
