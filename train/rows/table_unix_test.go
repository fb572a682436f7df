//go:build unix

package rows

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/model"
)

// A named pipe in a folder of tables is an error: to open it would block.
func TestTablePipes(t *testing.T) {
	for _, name := range []string{"b.csv", "b.jsonl", "a_test.csv"} {
		dir := t.TempDir()
		testfiles.Write(t, filepath.Join(dir, "a_train.csv"), "x\n1\n2\n3\n4\n")
		pipe := filepath.Join(dir, name)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skip("no named pipes here:", err)
		}
		opt := TableOptions{Options: Options{Mode: model.SeriesForecast, Targets: []string{"x"}, Horizon: 1}}
		if !strings.HasPrefix(name, "a_") {
			opt.Layout = LayoutFiles
		}
		_, err := Table(context.Background(), dir, opt)
		if !errors.Is(err, datafile.ErrNotRegular) || strings.Count(err.Error(), pipe) != 1 {
			t.Errorf("%s: error %v, expected one that names %s once", name, err, pipe)
		}
	}
}
