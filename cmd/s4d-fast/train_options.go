package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/train"
	"github.com/s4d-fast/s4d-fast/train/task"
)

// optionFlags returns the flags of every task's options. Tasks may share a flag.
func optionFlags() kong.Plugins {
	var fields []reflect.StructField
	for i, name := range optionNames() {
		var help []string
		var of []string
		var flag task.Flag
		for _, t := range task.Names() {
			if f, ok := findFlag(t, name); ok {
				flag, of = f, append(of, t)
				if !slices.Contains(help, f.Help) {
					help = append(help, f.Help)
				}
			}
		}
		kind := reflect.TypeFor[*string]()
		if flag.Bool {
			kind = reflect.TypeFor[bool]()
		}
		tag := fmt.Sprintf("name:%q help:%q", name, fmt.Sprintf("%s: %s", strings.Join(of, ", "), strings.Join(help, " ")))
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

// optionNames returns the names of the flags of every task's options, sorted.
func optionNames() []string {
	var names []string
	for _, t := range task.Names() {
		if tk, err := task.Lookup(t); err == nil {
			for _, f := range tk.Flags() {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
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

// setOptions sets the options whose flags are given. A flag that the task does not have is an
// error.
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
		if err := cfg.Set(flag.Assignment(value)); err != nil {
			return usageError(fmt.Errorf("--%s: %w", name, err))
		}
	}
	return nil
}
