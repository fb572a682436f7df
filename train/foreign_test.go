package train

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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
	must.Reject(ReadConfig(path))(t, path+": larger than the limit of 1048576 bytes")
}

// A table that is accepted is the same after it was written and read again. The folders of its runs
// are in that of the sweep.
func FuzzSweepTable(f *testing.F) {
	accuracy, rmse := 0.75, 3.5
	var b bytes.Buffer
	must.Do(f, writeRows(&b, []Axis{{Keys: []string{"ssm.init"}}, {Keys: []string{"ssm.dt_min", "ssm.dt_max"}}}, []SweepRow{
		{Values: []string{"lin", "0.1"}, Seed: 1, Best: &Metrics{Epoch: 2, Step: 30, ValLoss: 0.5, ValAccuracy: &accuracy}, Test: &Result{Accuracy: 0.25}},
		{Values: []string{"lin", "a,\"b\""}, Seed: 2, Diverged: true, Best: &Metrics{Epoch: 1, ValRMSE: &rmse}, Test: &Result{RMSE: 4}, Level: "avx2"},
	}))
	f.Add(b.Bytes())
	f.Add([]byte("ssm.init," + strings.Join(sweepColumns, ",") + "\n../..,1,false,1,2,0.5,0.25,,,0.5,,avx2\n"))
	f.Add([]byte(strings.Join(sweepColumns, ",") + "\n0,true,0,0,NaN,-Inf,0x1p-2,,,1e308,,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var table *SweepTable
		var err error
		must.Allocates(t, 256*len(text)+1<<16, func() { table, err = parseSweep(text) }, "%d bytes", len(text))
		if err != nil {
			return
		}
		encode := func(table *SweepTable) []byte {
			var b bytes.Buffer
			must.Do(t, writeRows(&b, table.Axes, table.Rows))
			return b.Bytes()
		}
		for _, row := range table.Rows {
			if dir := runFolder("sweep", runName(table.Axes, row.Values, row.Seed)); filepath.Dir(dir) != "sweep" {
				t.Errorf("a run in the folder %q", dir)
			}
		}
		first := encode(table)
		again := must.Get(parseSweep(first))(t)
		if !bytes.Contains(text, []byte("\r")) { // which package csv drops before the end of a line
			must.Equal(t, string(encode(again)), string(first), "table read again")
		}
	})
}

// parseLog returns only whole lines of the log, with epochs from 1 to the last. They are the same
// after they were written and read again.
func FuzzMetricsLog(f *testing.F) {
	var b bytes.Buffer
	for i := range 3 {
		must.Do(f, json.NewEncoder(&b).Encode(Metrics{Epoch: i + 1, Step: 5 * i, ValLoss: 0.5}))
	}
	b.WriteString(`{"split":"test","epoch":3}` + "\n")
	f.Add(b.Bytes(), 3)
	f.Add(b.Bytes()[40:], 2)
	f.Add([]byte("{\"epoch\":1}\n\x00\x00\n{\"Epoch\":2}\r\n{\"epoch\":1,\"epoch\":2}\n{\"epoch\":1}"), 1000)
	f.Fuzz(func(t *testing.T, log []byte, epochs int) {
		var lines map[int][]byte
		must.Allocates(t, 512*len(log)+1<<16, func() { lines = parseLog(log, epochs) }, "%d bytes", len(log))
		var again []byte
		for epoch, line := range lines {
			var m Metrics
			must.Do(t, json.Unmarshal(line, &m))
			if m.Epoch != epoch || epoch < 1 || epoch > epochs || !bytes.Contains(log, line) || bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Errorf("epoch %d of %d: %q", epoch, epochs, line)
			}
			again = append(again, line...)
		}
		if got := parseLog(again, epochs); !reflect.DeepEqual(got, lines) {
			t.Errorf("%d lines are read again as %d: %v", len(lines), len(got), got)
		}
	})
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

// Every bit and every truncation of a checkpoint: an error, or the same state.
func TestEveryBitOfACheckpoint(t *testing.T) {
	tr := newTrainer(t, tiny(t, "model.d_model=2", "model.n_layers=1", "model.mixing=none", "model.norm=none", "ssm.d_state=2", "train.max_steps=2"))
	must.Do(t, tr.Fit(t.Context()))
	encode := func() []byte {
		var b bytes.Buffer
		must.Get(must.Get(tr.checkpointData())(t).WriteTo(&b))(t)
		return b.Bytes()
	}
	whole, state := encode(), tr.state
	must.Damage(t, whole, func(b []byte) bool {
		f, err := safetensors.Read(bytes.NewReader(b))
		if err != nil {
			return true
		}
		s, err := stateOf(f)
		return err == nil && reflect.DeepEqual(s, state) && tr.restore(f, s) == nil && bytes.Equal(encode(), whole)
	})
}
