package model

import (
	"math"
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// eachField calls f for every field of the configuration that a file holds.
func eachField(v reflect.Value, prefix string, f func(name string, v reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Tag.Get("json") == "-": // the SSM's width is the network's
		case v.Field(i).Kind() == reflect.Struct:
			eachField(v.Field(i), prefix+field.Name+".", f)
		default:
			f(prefix+field.Name, v.Field(i))
		}
	}
}

// A change of any field of the configuration, or of the last bit of any tensor, changes the hash.
func TestHashOfEverything(t *testing.T) {
	for variant, c := range variants() {
		m := mustNew(t, c, 1)
		seen := map[[32]byte]string{m.Hash(): "the model itself"}
		add := func(what string) {
			h := m.Hash()
			if other, ok := seen[h]; ok {
				t.Errorf("%s: %s has the hash of %s", variant, what, other)
			}
			seen[h] = what
		}
		eachField(reflect.ValueOf(&m.Config).Elem(), "", func(name string, v reflect.Value) {
			old := reflect.ValueOf(v.Interface())
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Int:
				v.SetInt(v.Int() + 1)
			case reflect.Float64:
				v.SetFloat(math.Nextafter(v.Float(), 9))
			case reflect.Bool:
				v.SetBool(!v.Bool())
			default:
				t.Fatalf("%s: a field of kind %s", name, v.Kind())
			}
			add(name)
			v.Set(old)
		})
		for _, x := range m.Weights.Tensors() {
			for _, i := range []int{0, len(x.Data) - 1} {
				old := x.Data[i]
				x.Data[i] = math.Float32frombits(math.Float32bits(old) ^ 1)
				add(x.Name + " " + map[bool]string{true: "first", false: "last"}[i == 0])
				x.Data[i] = old
			}
		}
		must.Equal(t, m.Config, c, "%s: configuration, which the test puts back", variant)
		must.Equal(t, m.Hash(), mustNew(t, c, 1).Hash(), "%s: hash after the test has put everything back", variant)
	}
}
