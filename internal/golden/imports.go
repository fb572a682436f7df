package golden

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Import is the golden file of a network of two full official layers, d_model 8, d_state 16, 2
// inputs and 5 outputs.
type Import struct {
	Name   string `json:"model"`
	Config struct {
		Version       string // v3 or v4
		Disc          string // zoh or bilinear
		DtTransform   string `json:"dt_transform"` // exp or softplus
		Bidirectional bool
	}
	Logits [][]float64 // [ImportBatch][5]
	// [layer][channel][ImportTimes]
	Trace   [][][]float64    `json:"trace_after_block_sequence0_h_by_t_0_17_95"`
	Tensors map[string][]int // names and shapes in the checkpoint
}

// ImportBatch is the number of sequences: the first ones of TinyInput.
const ImportBatch = 3

// ImportTimes are the positions of a trace.
var ImportTimes = [3]int{0, 17, 95}

// Imports returns the golden values of all networks of full layers.
func Imports(t testing.TB) []*Import {
	t.Helper()
	names := must.Get(fs.Glob(files, "testdata/import-*.json"))(t)
	var list []*Import
	for _, name := range names {
		list = append(list, Load[Import](t, strings.TrimSuffix(path.Base(name), ".json")))
	}
	return list
}

// S4Import is the golden file "s4-dplr" of a network that the official trainer saved: two layers of
// S4, pre-norm with batch norm, bidirectional. The checkpoint, Pth("s4-dplr"), has an OmegaConf
// object and optimiser state too.
type S4Import struct {
	Logits  [][]float64      // [ImportBatch][5]
	Short   [][]float64      `json:"logits_first_48_samples"`
	Lengths [][]float64      `json:"logits_with_lengths_96_60_33"`
	Tensors map[string][]int // names and shapes in the checkpoint
}

// Pth writes a network's PyTorch checkpoint to a temporary file and returns its path: of a Tiny
// "train-tiny-" and its name, of an Import its name, and "train-tiny-s4" of layers of S4.
func Pth(t testing.TB, name string) string {
	t.Helper()
	data := must.Get(files.ReadFile("testdata/" + name + ".pth"))(t)
	path := filepath.Join(t.TempDir(), name+".pth")
	must.Do(t, os.WriteFile(path, data, 0o600))
	return path
}
