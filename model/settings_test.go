package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

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
		`{"a": {"b": 1}}`: `setting "a"`, `{"a": [[1]]}`: `setting "a"`, `{"a": null}`: `setting "a"`, `{"a": 1e999}`: "out of range", `[1]`: "cannot unmarshal",
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

// What a model file cannot hold, or would change, is not written.
func TestInvalidSettings(t *testing.T) {
	m := mustNew(t, tiny(), 1)
	for _, v := range []any{
		nil, math.NaN(), math.Inf(-1), "\xff", []any{[]any{int64(1)}}, []any{map[string]any{}}, []any{math.NaN()}, map[string]any{"a": int64(1)},
		time.Date(1979, 5, 27, 0, 0, 0, 0, time.UTC), []string{"a"},
	} {
		m.Meta.Data = Settings{"good": []any{"a", int64(1), 0.5, true}, "wrong": v}
		_, err := m.WriteTo(new(bytes.Buffer))
		must.Fail(t, err, `model: meta: data: setting "wrong"`, "expected a text in UTF-8, a finite number, a truth value or a list of these")
	}
	m.Meta.Data = Settings{"\xff": true}
	must.Fail(t, m.Meta.Validate(m.Config), `setting "\xff"`)
}
