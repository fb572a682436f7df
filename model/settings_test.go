package model

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Settings keep the kinds of their values, and every digit of whole numbers, through JSON.
func TestSettings(t *testing.T) {
	want := Settings{
		"text": "a b", "whole": int64(1<<63 - 1), "number": 0.25, "truth": true, "list": []any{"x", int64(3), 1.5}, "empty": []any{},
	}
	text := must.Get(json.Marshal(want))(t)
	var got Settings
	must.Do(t, json.Unmarshal(text, &got))
	must.Equal(t, fmt.Sprintf("%#v", map[string]any(got)), fmt.Sprintf("%#v", map[string]any(want)), "settings")
	must.Equal(t, fmt.Sprint(got.Keys()), "[empty list number text truth whole]", "keys")
	for text, want := range map[string]string{
		`{"a": 1e999}`: `setting "a"`, `[1]`: "cannot unmarshal",
	} {
		must.Fail(t, json.Unmarshal([]byte(text), &got), want)
	}
}

func TestIsZeroSetting(t *testing.T) {
	for _, v := range []any{nil, int64(0), 0, 0.0, false, "", []any{}} {
		must.Equal(t, IsZeroSetting(v), true, "%#v is zero", v)
	}
	for _, v := range []any{int64(1), -1, 0.5, true, "0", []any{int64(0)}, map[string]any{}} {
		must.Equal(t, IsZeroSetting(v), false, "%#v is zero", v)
	}
}
