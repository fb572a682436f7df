package train

import (
	"bufio"
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

// maxLogLine bounds the bytes of a line of metrics.jsonl.
const maxLogLine = 64 << 10

// parseLog returns the lines of the first epochs of a log, by epoch. It leaves out what is not such
// a line.
func parseLog(r io.Reader, epochs int) (map[int][]byte, error) {
	lines := map[int][]byte{}
	in := bufio.NewReaderSize(r, maxLogLine)
	for whole := true; ; { // the next bytes begin a line
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return lines, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return nil, err
		}
		var m struct {
			Metrics
			Split string
		}
		if whole && err == nil && json.Unmarshal(line, &m) == nil && m.Split == "" && m.Epoch >= 1 && m.Epoch <= epochs {
			lines[m.Epoch] = bytes.Clone(line)
		}
		whole = err == nil
	}
}

// restoreLog removes from metrics.jsonl what is not of the first epochs: later ones, the test and
// damaged lines. It returns the number of epochs whose lines are lost. The line of the best epoch
// is written again if it is lost.
func (r *Run) restoreLog(epochs int, best *Metrics) (lost int, err error) {
	if r.Dir == "" {
		return 0, nil
	}
	path := r.path(metricsFile)
	lines := map[int][]byte{}
	f, err := r.files.Open(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		lines, err = parseLog(f, epochs)
		f.Close()
	}
	if err != nil && !missing {
		return 0, fmt.Errorf("train: %w", err)
	}
	lost = epochs - len(lines)
	if best != nil && lines[best.Epoch] == nil {
		line, err := json.Marshal(best)
		if err != nil {
			return 0, fmt.Errorf("train: metrics: %w", err)
		}
		lines[best.Epoch] = append(line, '\n')
	}
	var kept []byte
	for _, epoch := range slices.Sorted(maps.Keys(lines)) {
		kept = append(kept, lines[epoch]...)
	}
	if missing && len(kept) == 0 {
		return lost, nil
	}
	// Also if nothing changes: if the last sync failed, the old lines may never reach the disk.
	return lost, r.replace(metricsFile, func(w io.Writer) error {
		_, err := w.Write(kept)
		return err
	})
}
