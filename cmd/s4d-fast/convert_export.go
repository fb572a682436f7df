package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// export writes a model as a PyTorch checkpoint.
func (c *convertCmd) export(ctx context.Context, std *streams) error {
	if c.PreNorm != nil || c.Length != nil || cmp.Or(c.Disc, c.Step, c.Activation, c.Mixing, c.Pool, c.Weights, c.Task) != "" || len(c.Labels)+len(c.Mean)+len(c.Std) > 0 || c.Rate != 0 {
		return usageError(errors.New("a checkpoint as output accepts no option; the model file has all settings"))
	}
	m, err := c.In.load(ctx)
	if err != nil {
		return badInput(err)
	}
	err = m.ExportPyTorch(string(c.Out))
	if errors.Is(err, errors.ErrUnsupported) {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(std.err, "wrote", c.Out)
	if m.Meta.Filterbank != nil {
		fmt.Fprintln(std.err, "the checkpoint and the flags do not include the filter bank: the network reads its frames, not audio")
	}
	if series := m.Meta.Series; series != nil && len(series.Offsets) > 0 {
		fmt.Fprintf(std.err, "the checkpoint and the flags do not include the offsets of the columns: the network reads %q less %v\n", series.Columns, series.Offsets)
	}
	if m.Meta.Detection != nil {
		fmt.Fprintln(std.err, "the checkpoint and the flags do not include the operating point for events")
	}
	_, err = io.WriteString(std.out, importFlags(m))
	return err
}

// importFlags returns what a checkpoint of the model does not store, as flags of convert: one per
// line, quoted for a shell or xargs.
func importFlags(m *model.Model) string {
	var labels []string
	for _, l := range m.Meta.Labels {
		labels = append(labels, printable(strings.ReplaceAll(l, ",", `\,`), ""))
	}
	name := m.Meta.Task
	if !slices.Contains(task.Names(), name) {
		name = "" // convert rejects it
	}
	var text strings.Builder
	for _, f := range [][2]string{
		{"mean", commas(m.Meta.InputMean)}, {"std", commas(m.Meta.InputStd)}, {"labels", strings.Join(labels, ",")}, {"task", name},
	} {
		if f[1] != "" {
			fmt.Fprintf(&text, "--%s=%s\n", f[0], quoted(f[1]))
		}
	}
	if m.Meta.SampleRate > 0 {
		fmt.Fprintf(&text, "--rate=%v\n", m.Meta.SampleRate)
	}
	if m.Config.PreNorm {
		fmt.Fprintln(&text, "--prenorm")
	}
	if m.Config.SSM.Layer == ssm.LayerS4 {
		fmt.Fprintf(&text, "--step=%s\n--length=%d\n", model.StepExp, m.Config.SSM.LMax)
	}
	return text.String()
}

// commas formats numbers as the value of a flag.
func commas(values []float32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ",")
}

// quoted returns a word quoted for a shell, where necessary.
func quoted(word string) string {
	if !strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
