package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// appendLog adds a JSON object to metrics.jsonl, in one write, and syncs the file and the folder.
// An earlier process may have created the file and ended before it could sync the folder.
func (r *Run) appendLog(v any) (err error) {
	if r.Dir == "" {
		return nil
	}
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(v); err != nil {
		return fmt.Errorf("train: metrics: %w", err)
	}
	path := r.path(metricsFile)
	f, err := r.files.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	_, err = f.Write(line.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = r.files.SyncFolder(filepath.Dir(path))
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// maxLog bounds the bytes of metrics.jsonl: about 100,000 epochs.
const maxLog = 64 << 20

// parseLog returns the lines of the first epochs of a log, by epoch. It leaves out what is not such
// a line.
func parseLog(text []byte, epochs int) map[int][]byte {
	lines := map[int][]byte{}
	for line := range bytes.Lines(text) {
		var m struct {
			Metrics
			Split string
		}
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &m) == nil && m.Split == "" && m.Epoch >= 1 && m.Epoch <= epochs {
			lines[m.Epoch] = line
		}
	}
	return lines
}

// restoreLog removes from metrics.jsonl what is not of the first epochs: later ones, the test and
// damaged lines. It returns the number of epochs whose lines are lost. The line of the best epoch
// is written again if it is lost.
func (r *Run) restoreLog(epochs int, best *Metrics) (lost int, err error) {
	if r.Dir == "" {
		return 0, nil
	}
	old, err := r.files.ReadFile(r.path(metricsFile), maxLog)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return 0, fmt.Errorf("train: %w", err)
	}
	lines := parseLog(old, epochs)
	lost = epochs - len(lines)
	if best != nil && lines[best.Epoch] == nil {
		line, err := json.Marshal(best)
		if err != nil {
			return 0, fmt.Errorf("train: metrics: %w", err)
		}
		lines[best.Epoch] = append(line, '\n')
	}
	var text []byte
	for _, epoch := range slices.Sorted(maps.Keys(lines)) {
		text = append(text, lines[epoch]...)
	}
	if missing && len(text) == 0 {
		return lost, nil
	}
	// Also if nothing changes: if the last sync failed, the old lines may never reach the disk.
	return lost, r.replace(metricsFile, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
