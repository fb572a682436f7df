package task

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

// Flag describes an option of a task that has a flag on the command line.
type Flag struct {
	Name string // of the flag, such as "skip-broken"
	Key  string // of the configuration, such as "data.skip_broken"
	Help string
	// Placeholder stands for the value in help texts.
	Placeholder string
	Bool        bool // the flag takes no value
	list, text  bool // the option is a list; its elements are texts
	local       bool // its elements are paths of folders
}

// Assignment returns the argument of train.Config.Set that gives the option a value. The elements
// of a list are separated by commas. Paths of folders become absolute, so that the configuration
// does not depend on the working directory; if that is unknown, it is an error.
func (f Flag) Assignment(value string) (string, error) {
	if f.list {
		elements := strings.Split(value, ",")
		for i, e := range elements {
			if !f.text {
				continue
			}
			e = strings.TrimSpace(e)
			if f.local && e != "" {
				var err error
				if e, err = filepath.Abs(e); err != nil {
					return "", err
				}
			}
			elements[i] = strconv.Quote(e)
		}
		value = "[" + strings.Join(elements, ", ") + "]"
	}
	return f.Key + "=" + value, nil
}

// Flags returns the flags of the task's options.
func (t *Task) Flags() []Flag { return slices.Clone(t.fields) }

func flags(options any) (all []Flag) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(options)) {
		if help := f.Tag.Get("help"); help != "" {
			key, list := f.Tag.Get("toml"), f.Type.Kind() == reflect.Slice
			all = append(all, Flag{
				Name: strings.ReplaceAll(key, "_", "-"), Key: "data." + key, Help: help,
				Placeholder: f.Tag.Get("placeholder"), Bool: f.Type.Kind() == reflect.Bool,
				list: list, text: list && f.Type.Elem().Kind() == reflect.String, local: f.Tag.Get("local") != "",
			})
		}
	}
	return all
}

// localOptions returns the keys of the options with the tag local. They are folders on this
// machine, which models do not record, so their data must be for training only.
func localOptions(options any) (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(options)) {
		if f.Tag.Get("local") != "" {
			keys = append(keys, f.Tag.Get("toml"))
		}
	}
	return keys
}

// portable returns the options that models record.
func (t *Task) portable(options model.Settings) model.Settings {
	r := maps.Clone(options)
	for _, key := range t.local {
		delete(r, key)
	}
	return r
}

// encodeOptions returns the options of a struct by their TOML keys. A number that is not set, a nil
// pointer, is an empty list: so that 0 is a value like any other, and an option that earlier
// versions did not have is zero.
func encodeOptions(options any) model.Settings {
	v := reflect.New(reflect.TypeOf(options)).Elem()
	v.Set(reflect.ValueOf(options))
	for _, field := range reflect.VisibleFields(v.Type()) {
		if f := v.FieldByIndex(field.Index); f.Kind() == reflect.Slice && f.IsNil() { // the encoder drops nil
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		}
	}
	text, err := toml.Marshal(v.Interface())
	s := model.Settings{}
	if err == nil {
		err = toml.Unmarshal(text, (*map[string]any)(&s))
	}
	if err != nil {
		panic(err) // options are numbers, texts and lists of them
	}
	for _, key := range optional(options) {
		if _, set := s[key]; !set {
			s[key] = []any{}
		}
	}
	return s
}

// optional returns the keys of the options that are pointers.
func optional(options any) (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(options)) {
		if f.Type.Kind() == reflect.Pointer {
			keys = append(keys, f.Tag.Get("toml"))
		}
	}
	return keys
}

// kindOfElements returns the kind of the elements of the option with a key, in the struct that
// options points to. It is Invalid if the option is not a list.
func kindOfElements(options any, key string) reflect.Kind {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(options).Elem()) {
		if f.Tag.Get("toml") == key && f.Type.Kind() == reflect.Slice {
			return f.Type.Elem().Kind()
		}
	}
	return reflect.Invalid
}

// mismatch matches the error of a value of another type, and the key in it.
var mismatch = regexp.MustCompile(`\(last key "(.*?)"\): (.*)`)

// decodeOptions sets the fields of the struct that options points to. An unknown key is an error,
// unless its value is zero: the configurations of earlier versions contain the options of all
// tasks.
func decodeOptions(given model.Settings, options any) error {
	given = maps.Clone(given)
	for _, key := range optional(reflect.ValueOf(options).Elem().Interface()) {
		if list, ok := given[key].([]any); ok && len(list) == 0 {
			delete(given, key)
		}
	}
	text, err := toml.Marshal(map[string]any(given))
	if err != nil {
		return fmt.Errorf("[data]: %w", err)
	}
	meta, err := toml.Decode(string(text), options)
	if err != nil {
		if m := mismatch.FindStringSubmatch(err.Error()); m != nil {
			if v := given[m[1]]; reflect.TypeOf(v).Kind() != reflect.Slice {
				switch kindOfElements(options, m[1]) {
				case reflect.Float64: // bounds
					return fmt.Errorf("data.%s: %v is not a list, expected one such as [%[2]v, %[2]v]", m[1], v)
				case reflect.String:
					return fmt.Errorf("data.%s: %v is not a list, expected one such as [\"%[2]v\"]", m[1], v)
				}
			}
			return fmt.Errorf("data.%s: %s", m[1], m[2])
		}
		return fmt.Errorf("[data]: %w", err)
	}
	known := encodeOptions(reflect.ValueOf(options).Elem().Interface())
	for _, key := range meta.Undecoded() {
		if name := key.String(); !model.IsZeroSetting(given[name]) {
			return fmt.Errorf("unknown option data.%s%s", name, suggest.Hint(name, known.Keys()))
		}
	}
	return nil
}

// configError is an error for which errors.Is(err, train.ErrConfig) holds.
type configError struct{ error }

func (configError) Is(target error) bool { return target == train.ErrConfig }
func (e configError) Unwrap() error      { return e.error }

// dataError is an error for which errors.Is(err, train.ErrData) holds.
type dataError struct{ error }

func (dataError) Is(target error) bool { return target == train.ErrData }
func (e dataError) Unwrap() error      { return e.error }
