package safetensors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// CheckKeys reads one JSON value, which must have been decoded into a value of type t before.
// Package encoding/json ignores the case of keys and keeps the last of repeated ones. CheckKeys
// returns an error for these, for keys that t does not have, and for null in place of a value.
func CheckKeys(d *json.Decoder, t reflect.Type) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if t.Kind() == reflect.Pointer {
		if t = t.Elem(); token == nil {
			return nil
		}
	}
	switch token {
	case nil:
		if t.Kind() != reflect.Interface {
			return fmt.Errorf("null, expected a value")
		}
		return nil
	case json.Delim('['):
		for d.More() {
			if err := CheckKeys(d, elementType(t)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := checkObject(d, t); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = d.Token() // the closing bracket
	return err
}

// checkObject reads the keys and values of an object.
func checkObject(d *json.Decoder, t reflect.Type) error {
	var seen map[string]bool // a struct needs none: its fields are numbered
	var fields uint64
	if t.Kind() != reflect.Struct {
		seen = map[string]bool{}
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		value, twice := elementType(t), seen[key]
		if seen != nil {
			seen[key] = true
		} else {
			all := fieldsOf(t)
			i := slices.IndexFunc(all, func(f field) bool { return f.key == key })
			if i < 0 {
				return fmt.Errorf("unknown key %.80q", key)
			}
			value, twice = all[i].value, fields&(1<<i) != 0
			fields |= 1 << i
		}
		if twice {
			return fmt.Errorf("key %.80q occurs twice", key)
		}
		if err := CheckKeys(d, value); err != nil {
			return fmt.Errorf("key %.80q: %w", key, err)
		}
	}
	return nil
}

// elementType returns the type of the elements of a list or map, and for other types any.
func elementType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	}
	return reflect.TypeFor[any]()
}

// field is a field of a struct, by its key in JSON.
type field struct {
	key   string
	value reflect.Type
}

var known sync.Map // the fields of each type, since reflect.Type.Field allocates

// fieldsOf returns the fields of a struct type, which must have at most 64.
func fieldsOf(t reflect.Type) []field {
	if all, ok := known.Load(t); ok {
		return all.([]field)
	}
	var all []field
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); key != "-" {
			all = append(all, field{cmp.Or(key, t.Field(i).Name), t.Field(i).Type})
		}
	}
	known.Store(t, all)
	return all
}
