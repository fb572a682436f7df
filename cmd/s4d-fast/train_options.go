package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/option"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// taskFlags are the options of tasks that have a flag.
type taskFlags struct {
	task.MixOptions       `group:"Options of tasks audio and digits:"`
	task.ValidationOption `group:"Options of tasks audio and series:"`
	task.AudioOptions     `group:"Options of task audio:"`
	task.SeriesOptions    `group:"Options of task series:"`
	dialectFlags          `group:"Options of task series:"`
	TimeFormat            string `group:"Options of task series:" placeholder:"FORMAT" help:"dmy or mdy, the order of day and month, number, or a pattern such as %d/%m/%Y (default: by the column)."`
}

// dialect is the option with the flags that tell how a table is written, as NAME=VALUE.
const dialect = "dialect"

// set sets the options of the flags that are given. A flag that the task does not have is an error.
func (f *taskFlags) set(cfg *train.Config, given *kong.Context) error {
	fields := option.Fields(f)
	list, _ := cfg.Data[dialect].([]any)
	for _, p := range given.Path {
		if p.Flag == nil {
			continue
		}
		key := ""
		var value any
		if i := slices.IndexFunc(fields, func(o option.Field) bool { return o.Tag.Get("help") != "" && flagName(o) == p.Flag.Name }); i >= 0 {
			key, value = fields[i].Key, fields[i].Value()
		} else if slices.Contains([]string{"separator", "decimal", "comment", "time-format", "missing-values"}, p.Flag.Name) {
			values, several := p.Flag.Target.Interface().([]string)
			if !several {
				values = []string{p.Flag.Target.String()}
			}
			for _, v := range values {
				list = append(list[:len(list):len(list)], p.Flag.Name+"="+v)
			}
			key, value = dialect, list
		} else {
			continue // no option of a task
		}
		if _, ok := cfg.Data[key]; !ok {
			return usageError(fmt.Errorf("--%s: task %q does not have this option", p.Flag.Name, cfg.Task))
		}
		if err := cfg.SetOption(key, value); err != nil {
			return err
		}
	}
	return nil
}

func flagName(o option.Field) string { return strings.ReplaceAll(o.Key, "_", "-") }

// explainFlag returns the error of the command line args. If train or sweep was given a flag with
// the name of a key, such as --epochs 3, the error says how to set the key.
func explainFlag(err error, args []string) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag --")
	if !unknown || args[0] != "train" && args[0] != "sweep" {
		return err
	}
	name, _, _ = strings.Cut(name, ",")
	for _, f := range option.Fields(new(train.Config)) {
		if strings.HasSuffix(f.Key, "."+strings.ReplaceAll(name, "-", "_")) {
			return fmt.Errorf("unknown flag --%s: write --set %s=VALUE", name, f.Key)
		}
	}
	return err
}
