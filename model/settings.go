package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Settings are values by name: texts, whole numbers (int64), numbers (float64), truth values, and
// lists of these ([]any).
type Settings map[string]any

// Keys returns the names, sorted.
func (s Settings) Keys() []string { return slices.Sorted(maps.Keys(s)) }

// Validate returns an error for the first setting that a model file cannot hold.
func (s Settings) Validate() error {
	for _, key := range s.Keys() {
		if !utf8.ValidString(key) {
			return fmt.Errorf("setting %.80q: expected a name in UTF-8", key)
		}
		list, ok := s[key].([]any)
		if !ok {
			list = []any{s[key]}
		}
		for _, v := range list {
			if !isSetting(v) {
				return fmt.Errorf("setting %.80q: %.80s: expected a text in UTF-8, a finite number, a truth value or a list of these", key, fmt.Sprint(v))
			}
		}
	}
	return nil
}

// isSetting reports whether v can be a setting or an element of its list.
func isSetting(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case float64:
		return v-v == 0
	case bool, int, int64:
		return true
	}
	return false
}

// UnmarshalJSON reads an object of values and lists of values.
func (s *Settings) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var raw map[string]any
	if err := d.Decode(&raw); err != nil {
		return err
	}
	for key, value := range raw {
		var err error
		if list, ok := value.([]any); ok {
			for i := range list {
				if list[i], err = setting(key, list[i]); err != nil {
					return err
				}
			}
			continue
		}
		if raw[key], err = setting(key, value); err != nil {
			return err
		}
	}
	*s = raw
	return nil
}

// setting returns a value of a decoded object.
func setting(key string, value any) (any, error) {
	switch v := value.(type) {
	case string, bool:
		return v, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	}
	return nil, fmt.Errorf("setting %q: expected a text, a number, a truth value or a list of these", key)
}

// IsZeroSetting reports whether a value of Settings is 0, false, or an empty text or list.
func IsZeroSetting(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	}
	return v == int64(0) || v == 0 || v == 0.0 || v == false || v == ""
}
