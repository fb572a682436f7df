package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/train"
)

// modelFile is an argument that names a model: a file or a built-in model. A file with the name of
// a built-in model is written ./NAME.
type modelFile string

// load returns the model, or the cause of ctx if that ends first. An error suggests the argument
// that was probably meant.
func (f modelFile) load(ctx context.Context) (*model.Model, error) { return orInterrupt(ctx, f.read) }

func (f modelFile) read() (*model.Model, error) {
	path := string(f)
	if info, err := os.Stat(path); err == nil && info.IsDir() && !pretrained.Has(path) {
		best := filepath.Join(path, train.BestFile)
		if _, err := os.Stat(best); err == nil {
			return nil, fmt.Errorf("%s is a run folder; its model is %s", path, best)
		}
		return nil, fmt.Errorf("%s is a folder, expected a model file (.safetensors)", path)
	}
	m, err := pretrained.Open(path)
	switch {
	case errors.Is(err, model.ErrZip):
		return nil, fmt.Errorf("%w; convert it with: s4d-fast convert %s MODEL.safetensors", err, path)
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(path) == "":
		return nil, err
	case err != nil && filepath.Ext(path) != ".safetensors":
		return nil, fmt.Errorf("%s is not a model file (.safetensors): %w", path, err)
	}
	return m, err
}

// checkRanges returns an error for a number outside the range of its flag, such as range:"0..1024".
func checkRanges(parsed *kong.Context) error {
	for _, f := range parsed.Flags() {
		low, high, bounded := strings.Cut(f.Tag.Get("range"), "..")
		given := reflect.Indirect(f.Target)
		if !bounded || !given.IsValid() {
			continue
		}
		least, _ := strconv.ParseFloat(low, 64)
		most, _ := strconv.ParseFloat(high, 64)
		if v, _ := strconv.ParseFloat(fmt.Sprint(given), 64); !(v >= least && v <= most) {
			return usageError(fmt.Errorf("--%s %v: expected %s to %s", f.Name, given, low, high))
		}
	}
	return nil
}

// outFile is the name of a file to write.
type outFile string

// checkOutputs returns an error for an output that cannot be written, for example because its
// folder does not exist, or that is an input of the command. It is called before any work is done.
func checkOutputs(parsed *kong.Context) error {
	var models, inputs []string
	outputs := map[string]string{} // by the name of the flag or argument
	values := slices.Clone(parsed.Selected().Positional)
	for _, flag := range parsed.Flags() {
		values = append(values, flag.Value)
	}
	for _, v := range values {
		switch x := v.Target.Interface().(type) {
		case outFile, plotFile:
			outputs[v.Name] = fmt.Sprint(x)
		case modelFile:
			models = append(models, string(x))
		case []modelFile:
			for _, m := range x {
				models = append(models, string(m))
			}
		case []string:
			inputs = append(inputs, x...)
		case string:
			if v.Enum == "" {
				inputs = append(inputs, x)
			}
		}
	}
	models = slices.DeleteFunc(models, pretrained.Has)
	for name, out := range outputs {
		if out == "" {
			continue
		}
		if err := atomicfile.Check(out); err != nil {
			return fmt.Errorf("output %w", err)
		}
		there, _ := os.Stat(out)
		isOut := func(in string) bool { info, _ := os.Stat(in); return os.SameFile(info, there) }
		if slices.ContainsFunc(inputs, isOut) || name != "write" && slices.ContainsFunc(models, isOut) { // --write stores the point in the model
			return usageError(fmt.Errorf("output %q is an input of the command, which would be lost; name another file", out))
		}
	}
	return nil
}
