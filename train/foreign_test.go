package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// A text that would take the parser minutes is rejected, and one that a person could write is not.
func TestConfigText(t *testing.T) {
	for text, want := range map[string]string{
		"seed = " + strings.Repeat("[", 1e5):                        "line 1: more than 32 levels",
		"\n\n" + strings.Repeat("a.", 1e5) + "b = 1":                "line 3: more than 32 levels",
		"[" + strings.Repeat("a.", 1e5) + "b]":                      "line 1: more than 32 levels",
		"x = " + strings.Repeat("{a=", 1e5):                         "line 1: more than 32 levels",
		"x = \"\"\"\n\"\\\"\n\"\"\"\n" + strings.Repeat("a.", 100):  "line 4: more than 32 levels",
		strings.Repeat("# comment\n", 2e5):                          "2000000 bytes, expected a configuration of at most 1048576",
		"# " + strings.Repeat("[.", 1000) + "\nseed = 3":            "",
		"task = \"" + strings.Repeat("[.", 1000) + "\"":             "",
		"task = '" + strings.Repeat("{.", 1000) + "'":               "",
		"task = \"\"\"\n" + strings.Repeat("[.\n", 1000) + "\"\"\"": "",
	} {
		c := Default()
		err := c.Merge([]byte(text), "file")
		if want == "" {
			must.Do(t, err)
			continue
		}
		must.Fail(t, err, ErrConfig, "file: "+want)
	}
	path := filepath.Join(t.TempDir(), "large.toml")
	must.Do(t, os.WriteFile(path, make([]byte, maxConfig+1), 0o600))
	must.Reject(ReadConfig(path))(t, path+": more than 1048576 bytes")
}

// A configuration that is accepted is the same after it was written and read again. An error leaves
// the configuration as it was.
func FuzzMerge(f *testing.F) {
	presets := must.Get(filepath.Glob(filepath.Join(folder, "task", "presets", "*.toml")))(f)
	for _, path := range presets {
		f.Add(must.Get(os.ReadFile(path))(f))
	}
	f.Add([]byte("optim = {lr = 1e-3, milestones = [1, 2]}\nssm.init = 'lin'\n[data]\nx = [[1], \"a\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default()
		before := string(must.Get(c.Encode())(t))
		if c.Merge(text, "in") != nil {
			must.Equal(t, string(must.Get(c.Encode())(t)), before, "configuration after an error")
			return
		}
		first, err := c.Encode()
		if err != nil {
			return // a value that a configuration file cannot hold
		}
		again := Default()
		must.Do(t, again.Merge(first, "again"))
		must.Equal(t, string(must.Get(again.Encode())(t)), string(first), "configuration read again")
	})
}

// checkpointOf returns the trainer's checkpoint.
func checkpointOf(t testing.TB, tr *Trainer) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Get(must.Get(tr.checkpointData())(t).WriteTo(&b))(t)
	return b.Bytes()
}

// restoreBytes restores a checkpoint in memory.
func restoreBytes(tr *Trainer, b []byte) error {
	f, err := safetensors.Read(bytes.NewReader(b))
	if err != nil {
		return err
	}
	s, err := stateOf(f)
	if err != nil {
		return err
	}
	if s.Version != stateVersion {
		return fmt.Errorf("version %d", s.Version)
	}
	return tr.restore(f, s)
}

// smallTrainer returns the trainer of a small network after two steps.
func smallTrainer(t testing.TB) *Trainer {
	t.Helper()
	tr := newTrainer(t, tiny(t, "model.d_model=2", "model.n_layers=1", "model.mixing=none", "model.norm=none", "ssm.d_state=2", "train.max_steps=2"))
	must.Do(t, tr.Fit(t.Context()))
	return tr
}

// Every bit and every truncation of a checkpoint: an error that changes nothing, or the same state.
func TestEveryBitOfACheckpoint(t *testing.T) {
	tr := smallTrainer(t)
	whole, state, weights := checkpointOf(t, tr), tr.state, slices.Clone(tr.model.Weights.Flat())
	must.Damage(t, "a damaged checkpoint is an error or the same state", whole, func(b []byte) bool {
		_ = restoreBytes(tr, b) // equal state and weights are what counts
		return reflect.DeepEqual(tr.state, state) && slices.Equal(tr.model.Weights.Flat(), weights)
	})
}

// Bytes without a checksum are an error that changes nothing, or a checkpoint whose state is the
// same after it was written and read again.
func FuzzCheckpoint(f *testing.F) {
	tr := smallTrainer(f)
	whole := bytes.Replace(checkpointOf(f, tr), []byte(`"sha256"`), []byte(`"other!"`), 1)
	f.Add(whole)
	f.Add(whole[:200])
	f.Fuzz(func(t *testing.T, b []byte) {
		before := checkpointOf(t, tr)
		if restoreBytes(tr, b) != nil {
			if !bytes.Equal(checkpointOf(t, tr), before) {
				t.Fatal("a rejected checkpoint changed the run")
			}
			return
		}
		first := checkpointOf(t, tr)
		must.Do(t, tr.model.Weights.Validate())
		must.Do(t, restoreBytes(tr, first))
		if !bytes.Equal(checkpointOf(t, tr), first) {
			t.Error("the second round trip differs from the first")
		}
	})
}
