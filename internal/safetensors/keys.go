package safetensors

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Keys are the keys that JSON values of a type may have.
type Keys struct {
	fields   []field // of a struct
	element  *Keys   // of a list, a map, or any value
	nullable bool
}

// field is a field of a struct, by its key in JSON.
type field struct {
	key   string
	value *Keys
}

// KeysOf returns the keys of a type that does not contain itself.
func KeysOf(t reflect.Type) *Keys {
	k := &Keys{nullable: t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface}
	k.element = k
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		k.element = KeysOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); key != "-" {
				k.fields = append(k.fields, field{cmp.Or(key, t.Field(i).Name), KeysOf(t.Field(i).Type)})
			}
		}
	}
	return k
}

// Check reads one JSON value, which must have been decoded into a value of the type before. Package
// encoding/json ignores the case of keys and keeps the last of repeated ones. Check returns an
// error for these, for keys that the type does not have, and for null in place of a value.
func (k *Keys) Check(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case nil:
		if !k.nullable {
			return errors.New("null, expected a value")
		}
		return nil
	case json.Delim('['):
		for d.More() {
			if err := k.element.Check(d); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := k.checkObject(d); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = d.Token() // the closing bracket
	return err
}

// checkObject reads the keys and values of an object.
func (k *Keys) checkObject(d *json.Decoder) error {
	seen, seenFields := map[string]bool{}, make([]bool, len(k.fields))
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		value, twice := k.element, seen[key]
		if k.fields != nil {
			i := slices.IndexFunc(k.fields, func(f field) bool { return f.key == key })
			if i < 0 {
				return fmt.Errorf("unknown key %.80q", key)
			}
			value, twice = k.fields[i].value, seenFields[i]
			seenFields[i] = true
		} else {
			seen[key] = true
		}
		if twice {
			return fmt.Errorf("key %.80q occurs twice", key)
		}
		if err := value.Check(d); err != nil {
			return fmt.Errorf("key %.80q: %w", key, err)
		}
	}
	return nil
}
