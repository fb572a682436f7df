// Package option reads and sets the fields of structs by their keys, as configurations, presets and
// flags name them. The tag toml of a field is its key.
package option

import (
	"fmt"
	"math"
	"reflect"
)

// Field is an option: a field of a struct. Its type is a truth value, a number, a text, or a list
// of numbers or texts.
type Field struct {
	Key   string // after that of its table: "ssm.init"
	Tag   reflect.StructTag
	value reflect.Value
}

// Fields returns the options of the struct that p points to, in their order. Embedded structs
// belong to it, and other structs are tables. Maps are left out.
func Fields(p any) []Field { return fields("", reflect.ValueOf(p).Elem()) }

func fields(table string, v reflect.Value) (all []Field) {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		key := f.Tag.Get("toml")
		switch {
		case f.Anonymous:
			all = append(all, fields(table, value)...)
		case key == "" || key == "-" || value.Kind() == reflect.Map:
		case value.Kind() == reflect.Struct:
			all = append(all, fields(table+key+".", value)...)
		default:
			all = append(all, Field{Key: table + key, Tag: f.Tag, value: value})
		}
	}
	return all
}

// Value returns the option's value as a bool, int64, float64, string or []any of these.
func (f Field) Value() any { return plain(f.value) }

func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Uint64:
		return int64(v.Uint())
	case reflect.Float64:
		return v.Float()
	case reflect.String:
		return v.String()
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = plain(v.Index(i))
	}
	return list
}

// Set sets the option to a value of the types that Value returns, or to an int. An option that is a
// number may be set to a whole number.
func (f Field) Set(v any) error {
	if !assign(f.value, v) {
		return Mismatch(v, f.Value())
	}
	return nil
}

// Mismatch returns the error of a value v that does not have the type of an option with the value
// old.
func Mismatch(v, old any) error {
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if Kind(old) == "list" && Kind(v) != "list" {
		return fmt.Errorf("%.80s is not a list, expected one such as [%.80[1]s]", text)
	}
	return fmt.Errorf("%.80s is not a valid %s", text, Kind(old))
}

// assign sets to to v and reports whether v has its type. It does not change the memory of a slice.
func assign(to reflect.Value, v any) bool {
	from := reflect.ValueOf(v)
	switch k := to.Kind(); {
	case (k == reflect.Bool || k == reflect.String) && from.Kind() == k:
		to.Set(from.Convert(to.Type()))
	case k == reflect.Int && from.CanInt() && !to.OverflowInt(from.Int()):
		to.SetInt(from.Int())
	case k == reflect.Uint64 && from.CanInt() && from.Int() >= 0:
		to.SetUint(uint64(from.Int()))
	case k == reflect.Float64 && from.CanInt() && math.Abs(float64(from.Int())) <= 1<<53:
		to.SetFloat(float64(from.Int()))
	case k == reflect.Float64 && from.CanFloat():
		to.SetFloat(from.Float())
	case k == reflect.Slice || k == reflect.Array:
		return assignList(to, v)
	default:
		return false
	}
	return true
}

func assignList(to reflect.Value, v any) bool {
	list, ok := v.([]any)
	if !ok || to.Kind() == reflect.Array && len(list) != to.Len() {
		return false
	}
	next := reflect.New(to.Type()).Elem()
	if to.Kind() == reflect.Slice {
		next.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	}
	for i, e := range list {
		if !assign(next.Index(i), e) {
			return false
		}
	}
	to.Set(next)
	return true
}

// Kind returns the kind of a value in words, or "" if no option has such a value.
func Kind(v any) string {
	switch v.(type) {
	case bool:
		return "truth value (true or false)"
	case int, int64:
		return "whole number"
	case float64:
		return "number"
	case []any:
		return "list"
	case string:
		return "text"
	}
	return ""
}
