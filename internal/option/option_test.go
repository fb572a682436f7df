package option

import (
	"reflect"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

type name string

type shared struct {
	Words []string `toml:"words" local:"true"`
}

type table struct {
	Rate  float64 `toml:"rate"`
	Own   int     `toml:"-"`
	Limit int
}

type options struct {
	Init       name           `toml:"init"`
	Seed       uint64         `toml:"seed"`
	Skip       bool           `toml:"skip"`
	Data       map[string]any `toml:"data"`
	Optim      table          `toml:"optim"`
	Betas      [2]float64     `toml:"betas"`
	Milestones []int          `toml:"milestones"`
	shared
}

func fieldsByKey(o *options) map[string]Field {
	all := map[string]Field{}
	for _, f := range Fields(o) {
		all[f.Key] = f
	}
	return all
}

// Every option has a key. It is set to values of its type, and returns what it was set to.
func TestFields(t *testing.T) {
	var o options
	all := fieldsByKey(&o)
	must.Equal(t, len(all), 7, "options")
	must.Equal(t, all["words"].Tag.Get("local"), "true", "tag of an option of an embedded struct")
	for key, v := range map[string]any{
		"init": "lin", "seed": int64(7), "skip": true, "optim.rate": 0.5, "betas": []any{0.8, 0.99}, "milestones": []any{int64(3), int64(4)}, "words": []any{"a"},
	} {
		must.Do(t, all[key].Set(v))
		if got := all[key].Value(); !reflect.DeepEqual(got, v) {
			t.Errorf("%s: %v, expected %v", key, got, v)
		}
	}
	must.Do(t, all["optim.rate"].Set(int64(2)))
	must.Do(t, all["seed"].Set(9))
	want := options{Init: "lin", Seed: 9, Skip: true, Optim: table{Rate: 2}, Betas: [2]float64{0.8, 0.99}, Milestones: []int{3, 4}, shared: shared{Words: []string{"a"}}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, expected %+v", o, want)
	}
}

// A value of another type is an error that changes nothing.
func TestSetErrors(t *testing.T) {
	o := options{Milestones: []int{1, 2}}
	all := fieldsByKey(&o)
	for _, c := range []struct {
		key  string
		v    any
		want string
	}{
		{"init", int64(3), "3 is not a valid text"},
		{"seed", int64(-1), "-1 is not a valid whole number"},
		{"seed", 2.5, "2.5 is not a valid whole number"},
		{"skip", "yes", `"yes" is not a valid truth value (true or false)`},
		{"optim.rate", "fast", `"fast" is not a valid number`},
		{"betas", []any{0.5}, "is not a valid list"},
		{"milestones", []any{int64(3), "x"}, "is not a valid list"},
		{"words", "a", `"a" is not a list, expected one such as ["a"]`},
		{"words", map[string]any{}, "map[] is not a list"},
	} {
		must.Fail(t, all[c.key].Set(c.v), c.want)
	}
	if !reflect.DeepEqual(o, options{Milestones: []int{1, 2}}) {
		t.Errorf("changed to %+v", o)
	}
}

// A copy of a struct shares its lists. Setting a list of one does not change the other.
func TestSharedList(t *testing.T) {
	a := options{Milestones: []int{1, 2}}
	b := a
	must.Do(t, fieldsByKey(&b)["milestones"].Set([]any{int64(7), int64(8)}))
	must.Equal(t, a.Milestones[0], 1, "list of the original")
}
