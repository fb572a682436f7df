package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// optionFlags returns the flags of every task's options, in a group for each list of tasks that
// share flags. If tasks describe a flag differently, its help has the text of each.
func optionFlags() kong.Plugins {
	var fields []reflect.StructField
	for i, name := range optionNames() {
		var help, of []string
		var flag task.Flag
		same := true
		for _, t := range task.Names() {
			if f, ok := findFlag(t, name); ok {
				same = same && (len(of) == 0 || f.Help == flag.Help)
				flag, of, help = f, append(of, t), append(help, t+": "+f.Help)
			}
		}
		text, group := strings.Join(help, " "), "Options of tasks "+strings.Join(of, " and ")+":"
		if same {
			text = flag.Help
		}
		if len(of) == 1 {
			group = "Options of task " + of[0] + ":"
		}
		kind := reflect.TypeFor[*string]()
		if flag.Bool {
			kind = reflect.TypeFor[bool]()
		}
		tag := fmt.Sprintf("name:%q help:%q group:%q", name, text, group)
		if flag.Placeholder != "" {
			tag += fmt.Sprintf(" placeholder:%q", flag.Placeholder)
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Option%d", i), Type: kind, Tag: reflect.StructTag(tag)})
	}
	if len(fields) == 0 {
		return nil
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// optionNames returns the names of the flags of every task's options, in the order of the tasks and
// of their options.
func optionNames() []string {
	var names []string
	for _, t := range task.Names() {
		if tk, err := task.Lookup(t); err == nil {
			for _, f := range tk.Flags() {
				if !slices.Contains(names, f.Name) {
					names = append(names, f.Name)
				}
			}
		}
	}
	return names
}

func findFlag(of, name string) (task.Flag, bool) {
	tk, err := task.Lookup(of)
	if err != nil {
		return task.Flag{}, false
	}
	flags := tk.Flags()
	i := slices.IndexFunc(flags, func(f task.Flag) bool { return f.Name == name })
	if i < 0 {
		return task.Flag{}, false
	}
	return flags[i], true
}

// setOptions sets the options whose flags are given. Folders become absolute paths, because the run
// may be resumed from another folder. A flag that the task does not have is an error.
func setOptions(cfg *train.Config, plugins kong.Plugins, tk *task.Task) error {
	if len(plugins) == 0 {
		return nil
	}
	values := reflect.ValueOf(plugins[0]).Elem()
	for i, name := range optionNames() {
		var value string
		switch v := values.Field(i).Interface().(type) {
		case *string:
			if v == nil {
				continue
			}
			value = *v
		case bool:
			if !v {
				continue
			}
			value = "true"
		}
		flag, ok := findFlag(tk.Name(), name)
		if !ok {
			return usageError(fmt.Errorf("--%s: task %q does not have this option", name, tk.Name()))
		}
		assignment, err := flag.Assignment(value)
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		if err := cfg.Set(assignment); err != nil {
			return usageError(fmt.Errorf("--%s: %w", name, err))
		}
	}
	return nil
}

// checkValidation rejects an empty validation set. A run selects its best epoch on that set, and
// the loaders replace 0 by the default.
func checkValidation(cfg train.Config) error {
	if v, given := cfg.Data["validation"]; given && model.IsZeroSetting(v) {
		return usageError(errors.New("--validation 0 (data.validation): training requires a validation set, which selects the best epoch; give a fraction above 0, or omit the option for the default or if the data have their own splits"))
	}
	return nil
}
