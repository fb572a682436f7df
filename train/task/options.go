package task

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/option"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/train"
)

// localOptions returns the keys of the options with the tag local. They are folders on this
// machine, which models do not record, so a later evaluation of the model is without their data.
func localOptions(options any) (keys []string) {
	for _, f := range option.Fields(options) {
		if f.Tag.Get("local") != "" {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// portable returns the options that models record.
func (t *Task) portable(options model.Settings) model.Settings {
	r := maps.Clone(options)
	for _, key := range localOptions(t.options()) {
		delete(r, key)
	}
	return r
}

// encodeOptions returns the options of the struct that options points to.
func encodeOptions(options any) model.Settings {
	s := model.Settings{}
	for _, f := range option.Fields(options) {
		s[f.Key] = f.Value()
	}
	return s
}

// decodeOptions sets the given options of the struct that options points to.
func decodeOptions(given model.Settings, options any) error {
	fields := option.Fields(options)
	for _, key := range given.Keys() {
		i := slices.IndexFunc(fields, func(f option.Field) bool { return f.Key == key })
		if i < 0 {
			return fmt.Errorf("unknown option data.%s%s", key, suggest.Hint(key, encodeOptions(options).Keys()))
		}
		if err := fields[i].Set(given[key]); err != nil {
			return fmt.Errorf("data.%s: %w", key, err)
		}
	}
	return nil
}

// CheckValidation rejects a configuration for training whose validation set is empty. A run selects
// its best epoch on that set, and the loaders replace 0 by the default.
func CheckValidation(cfg train.Config) error {
	if v, given := cfg.Data["validation"]; given && model.IsZeroSetting(v) {
		return train.ConfigError(errors.New("--validation 0 (data.validation): training requires a validation set, which selects the best epoch; give a fraction above 0, or omit the option for the default or if the data have their own splits"))
	}
	return nil
}
