package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/s4d-fast/s4d-fast/train"
)

// version is that of jobs and entries. It changes whenever older programs cannot read them.
const version = 2

// job is a message of the queue.
type job struct {
	Version int       `json:"version"`
	Sweep   string    `json:"sweep"`
	Run     int       `json:"run"`  // index in the grid
	Name    string    `json:"name"` // of the run
	Config  string    `json:"config"`
	Data    []dataRef `json:"data,omitempty"`
}

// dataRef is a file or a folder of the data.
type dataRef struct {
	Path string `json:"path"` // on the coordinator's machine
	Hash string `json:"hash"` // of names and contents (treeOf)
	Size int64  `json:"size"` // of the archive, in bytes
}

// base returns the name of the file or folder.
func (r dataRef) base() string { return r.Path[strings.LastIndexAny(r.Path, `/\`)+1:] }

// object returns the name of the archive in the object store.
func (r dataRef) object(sweep string) string { return sweep + ".data." + r.Hash }

// Bounds of what a message may contain.
const (
	maxJob    = 1 << 20     // bytes of a job or an entry
	maxCommas = 4 * maxRefs // of a job or an entry, outside strings
	maxRefs   = 1024
	maxRuns   = 1 << 20
	maxData   = 1 << 50 // bytes of a data set
)

var (
	sweepID = regexp.MustCompile(`^[0-9a-f]{16}$`)
	hash    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (j *job) key() string { return fmt.Sprintf("%s.%d", j.Sweep, j.Run) }

// unmarshal reads a job or an entry. It counts the commas first, because each element of a list
// costs up to 200 times the memory of its text.
func unmarshal(text []byte, kind string, v any) error {
	if len(text) > maxJob {
		return fmt.Errorf("cluster: %s of %d bytes, expected at most %d", kind, len(text), maxJob)
	}
	commas, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case c == ',' && !quoted:
			commas++
		}
	}
	if commas > maxCommas {
		return fmt.Errorf("cluster: %s with %d commas outside strings, expected at most %d", kind, commas, maxCommas)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("cluster: %s: %w", kind, err)
	}
	return nil
}

// parseJob reads a job. Its configuration is not validated.
func parseJob(text []byte) (*job, error) {
	var j job
	if err := unmarshal(text, "job", &j); err != nil {
		return nil, err
	}
	switch {
	case j.Version != version:
		return nil, fmt.Errorf("cluster: job of version %d, expected %d: the coordinator and this worker are of different versions", j.Version, version)
	case !sweepID.MatchString(j.Sweep) || j.Run < 0 || j.Run >= maxRuns || len(j.Data) > maxRefs:
		return nil, fmt.Errorf("cluster: job of sweep %.40q, run %d with %d data sets: expected 16 hexadecimal digits, a run below %d and at most %d data sets", j.Sweep, j.Run, len(j.Data), maxRuns, maxRefs)
	}
	for _, r := range j.Data {
		if base := r.base(); !hash.MatchString(r.Hash) || r.Size < 0 || r.Size > maxData || base == ".." || !filepath.IsLocal(base) {
			return nil, fmt.Errorf("cluster: job: data %.200q with hash %.80q, %d bytes: expected the path of a file or folder, a SHA-256 and a size up to %d bytes", r.Path, r.Hash, r.Size, int64(maxData))
		}
	}
	return &j, nil
}

// config returns the job's configuration.
func (j *job) config() (train.Config, error) {
	c := train.Default()
	err := c.Merge([]byte(j.Config), "job "+j.Name)
	return c, err
}

// The states of a run.
const (
	queued  = "queued"
	running = "running"
	stopped = "stopped" // by the coordinator, with a checkpoint
	done    = "done"
	failed  = "failed"
)

// entry is the state of a run, in the key-value store.
type entry struct {
	Version int      `json:"version"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Lease   string   `json:"lease"`  // of the worker that has it; "": nobody
	Worker  string   `json:"worker"` // its name
	Claims  int      `json:"claims"` // leases since the last checkpoint
	Errors  int      `json:"errors"`
	Error   string   `json:"error,omitempty"` // the last one
	Step    int      `json:"step"`            // of the checkpoint
	Files   []file   `json:"files,omitempty"` // of the checkpoint
	Levels  []string `json:"levels,omitempty"`
	Result  *result  `json:"result,omitempty"`
}

// result is a train.SweepRow. Its numbers are exact.
type result struct {
	Diverged bool           `json:"diverged"`
	Best     *train.Metrics `json:"best"`
	Tested   bool           `json:"tested"`
	Accuracy *float64       `json:"accuracy,omitempty"` // on the test set
	RMSE     *float64       `json:"rmse,omitempty"`
}

// maxClaims is the number of workers that a run may lose in a row without a new checkpoint, and
// maxErrors that of its errors, before the run counts as failed.
const (
	maxClaims = 50
	maxErrors = 3
)

func parseEntry(text []byte) (entry, error) {
	var e entry
	if err := unmarshal(text, "entry", &e); err != nil {
		return e, err
	}
	if e.Version != version {
		return e, fmt.Errorf("cluster: entry of version %d, expected %d: other machines run another version", e.Version, version)
	}
	return e, checkFiles(e.Files)
}

// row returns the row of the table.
func (e *entry) row() train.SweepRow {
	row := train.SweepRow{Diverged: e.Result.Diverged, Best: e.Result.Best, Level: strings.Join(e.Levels, "+")}
	if e.Result.Tested {
		row.Test = &train.Result{}
		for _, v := range []struct {
			to   *float64
			from *float64
		}{{&row.Test.Accuracy, e.Result.Accuracy}, {&row.Test.RMSE, e.Result.RMSE}} {
			if v.from != nil {
				*v.to = *v.from
			}
		}
	}
	return row
}

// resultOf returns the result of a run that has ended.
func resultOf(t *train.Trainer, diverged bool) *result {
	r := &result{Diverged: diverged, Best: t.BestEpoch()}
	if test := t.Test(); test != nil {
		r.Tested, r.Accuracy, r.RMSE = true, train.Finite(test.Accuracy), train.Finite(test.RMSE)
	}
	return r
}
