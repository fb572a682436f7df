package train

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"syscall"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
	"github.com/s4d-fast/s4d-fast/model"
)

// BestFile is the file of a run folder with the model of the best epoch.
const BestFile = "best.safetensors"

// The other files of a run folder.
const (
	configFile     = "config.toml"
	metricsFile    = "metrics.jsonl"
	checkpointFile = "last/checkpoint.safetensors"
	lockFile       = "last/lock" // locked while a Trainer is open
)

// RunFiles returns the files of a run folder from which a run can be resumed, with slashes: the
// configuration first and the checkpoint last. A run that has just begun lacks some of them.
func RunFiles() []string { return []string{configFile, BestFile, metricsFile, checkpointFile} }

// Run is a run folder: its files and their lock. One goroutine at a time may use it.
type Run struct {
	Dir string // "": there is no folder, and nothing is written

	files  atomicfile.Files
	locked *filelock.Lock
}

// newRun returns the run in a folder. A nil file system is that of the operating system.
func newRun(dir string, files atomicfile.FS) Run {
	return Run{Dir: dir, files: atomicfile.Files{FS: cmp.Or[atomicfile.FS](files, atomicfile.OS{})}}
}

// path returns the path of a file of the folder.
func (r *Run) path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// create makes and locks the folder of a new run: Dir, which must not hold a run, or if numbered
// the first of Dir, Dir-2, Dir-3, … that does not exist.
func (r *Run) create(numbered bool) (warning string, err error) {
	if numbered {
		if r.Dir, err = nextFolder(r.files, r.Dir); err != nil {
			return "", err
		}
		return r.lock()
	}
	if err := r.checkEmpty(); err != nil {
		return "", err
	}
	if warning, err = r.lock(); err != nil {
		return "", err
	}
	return warning, r.checkEmpty() // another process may have begun a run before the lock
}

// CheckFolder returns the error with which New rejects a folder for a new run because of what is
// in it: a run or files of one, or a file in place of the folder. A program that loads data for
// long calls it before. It makes no folder.
func CheckFolder(dir string) error {
	r := newRun(dir, nil)
	return r.checkEmpty()
}

// checkEmpty returns an error if the folder contains a file of a run. Without its configuration, a
// run cannot be resumed.
func (r *Run) checkEmpty() error {
	for _, name := range RunFiles() {
		switch found, err := r.exists(name); {
		case err != nil:
			return err
		case found && name == configFile:
			return configErrorf("out: %s already holds a run: resume it or choose another folder", r.Dir)
		case found:
			return configErrorf("out: %s holds %s of a run, but no %s: choose another folder", r.Dir, name, configFile)
		}
	}
	return nil
}

// noFile returns an error for a path at or above which there is a file.
func noFile(files atomicfile.Files, path string) error {
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

// lock locks the folder and removes what a crash left of the run's files. If the file system has no
// locks, lock returns a warning.
func (r *Run) lock() (warning string, err error) {
	if r.locked, err = lockFolder(r.files, r.Dir, lockFile); err != nil {
		return "", err
	}
	if !r.locked.Locked() {
		warning = fmt.Sprintf("%s cannot be locked on its file system: do not train in it with another process", r.Dir)
	}
	var files []string
	for _, name := range append(RunFiles(), resultFile) {
		files = append(files, r.path(name))
	}
	if err := r.files.RemoveTemporary(files...); err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	return warning, nil
}

// lockFolder locks a folder by a file in it.
func lockFolder(files atomicfile.Files, dir, name string) (*filelock.Lock, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := files.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("train: %w", err)
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

func (r *Run) exists(name string) (bool, error) {
	if err := noFile(r.files, r.Dir); err != nil {
		return false, err
	}
	_, err := r.files.Stat(r.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("train: %w", err)
	}
	return err == nil, nil
}

// checkConfig returns an error if the configuration recorded in the folder differs from c. Options
// of the data that models do not record are folders, which may have moved: they may differ, since
// the fingerprint covers the recordings in them. recorded are the options that models record; nil:
// not known.
func (r *Run) checkConfig(c, there Config, recorded model.Settings) error {
	if recorded != nil {
		for _, of := range []*Config{&c, &there} {
			of.Data = maps.Clone(of.Data)
			maps.DeleteFunc(of.Data, func(key string, _ any) bool {
				_, ok := recorded[key]
				return !ok && key != DirKey
			})
		}
	}
	keys := c.Differences(&there)
	if len(keys) == 0 {
		return nil
	}
	return configErrorf("out: the run in %s has another configuration: %s: there %s, here %s",
		r.Dir, keys[0], cmp.Or(there.values()[keys[0]], "none"), cmp.Or(c.values()[keys[0]], "none"))
}

// readState reads a checkpoint and the state in it, which it does not validate.
func (r *Run) readState(name string) (*safetensors.File, state, error) {
	path := r.path(name)
	file, err := r.files.Open(path)
	if err != nil {
		return nil, state{}, fmt.Errorf("train: %w", err)
	}
	defer file.Close()
	f, s, err := parseCheckpoint(file)
	switch _, foreign := errors.AsType[*json.UnmarshalTypeError](err); {
	case foreign:
		return nil, s, configErrorf("out: %s: a checkpoint of another version of s4d-fast, which this one cannot resume", path)
	case err != nil:
		return nil, s, contentError(fmt.Errorf("train: %s: %w", path, err))
	case s.Version != stateVersion:
		return nil, s, configErrorf("out: %s: checkpoint of version %d, expected %d", path, s.Version, stateVersion)
	}
	return f, s, nil
}

// replace writes a file of the folder. After a crash it is the old one or the new one.
func (r *Run) replace(name string, write func(io.Writer) error) error {
	if r.Dir == "" {
		return nil
	}
	if err := r.files.Replace(r.path(name), 0o666, write); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// readModel reads the model of the best epoch.
func (r *Run) readModel() (*model.Model, error) {
	f, err := r.files.Open(r.path(BestFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := model.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(BestFile), err)
	}
	return m, nil
}

// writeLog replaces metrics.jsonl: a line per epoch and one of the test, if that is not nil.
func (r *Run) writeLog(epochs []Metrics, test *testRecord) error {
	return r.replace(metricsFile, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, m := range epochs {
			if err := lines.Encode(m); err != nil {
				return err
			}
		}
		if test == nil {
			return nil
		}
		return lines.Encode(test)
	})
}
