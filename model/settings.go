package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Settings are values by name: texts, whole numbers (int64), numbers (float64), truth values, and
// lists of these ([]any).
type Settings map[string]any

// Keys returns the names, sorted.
func (s Settings) Keys() []string { return slices.Sorted(maps.Keys(s)) }

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
		if raw[key], err = setting(value); err != nil {
			return fmt.Errorf("setting %.80q: %w", key, err)
		}
	}
	*s = raw
	return nil
}

// setting returns a value of a decoded object, in which it replaces json.Number.
func setting(value any) (_ any, err error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = setting(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
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
