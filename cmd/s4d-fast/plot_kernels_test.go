package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

func TestPlotKernels(t *testing.T) {
	both := saved(t, func(c *model.Config) {
		c.NLayers, c.SSMLayers = 3, 2
		c.SSM.Bidirectional, c.SSM.Init, c.SSM.LMax = true, ssm.Lin, 90
	})
	texts := drawn(t, 1200, 2*320+80, "kernels", both, "--stride", "32")
	mustHave(t, texts, "layer 1 of 3: mean over 4 channels, first 90 taps", "layer 2 of 3", "causal", "anticausal",
		"multiples of 32", "mean |K[l]|", "lag l [samples]", "0", "32", "64")
	mustHave(t, drawn(t, 0, 0, "kernels", both, "--stride", "8", "--unroll"), "layer 2: mean |K[l]|, 40 dB", "pixels to the left", "rows above")
	checkRun(t, nil, []string{"plot", "kernels", both, "--unroll"}, exitUsage, "set --stride")
}

// By default, rows are marked for tasks of images and nothing for others. The axis of lags states
// the duration of a sample if there is a sampling rate.
func TestKernelStride(t *testing.T) {
	for _, c := range []struct {
		task  string
		rate  float64
		flags []string
		want  string // "" for no marks
	}{
		{task: "digits", rate: 8000}, {task: ""}, {task: "psmnist"}, {task: "smnist", want: "multiples of 28"}, {task: "scifar", want: "multiples of 32"},
		{task: "smnist", flags: []string{"--stride", "0"}}, {task: "digits", rate: 8000, flags: []string{"--stride", "80"}, want: "multiples of 80"},
	} {
		m := must.Get(model.Load(saved(t, func(*model.Config) {})))(t)
		m.Meta.Task, m.Meta.SampleRate = c.task, c.rate
		path := filepath.Join(t.TempDir(), "m.safetensors")
		must.Do(t, m.Save(path))
		texts := drawn(t, 0, 0, append([]string{"kernels", path}, c.flags...)...)
		if c.want != "" {
			mustHave(t, texts, c.want)
		} else if strings.Contains(texts, "multiples") {
			t.Errorf("%+v: marks in %s", c, texts)
		}
		if c.rate > 0 {
			mustHave(t, texts, "lag l [samples of 0.125 ms]")
		}
	}
}
