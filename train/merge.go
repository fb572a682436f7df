package train

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/option"
	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/model"
)

// Merge replaces the values that a TOML text contains. Errors begin with name. An unknown key or a
// value of the wrong type is an error that names the key; c is then unchanged.
func (c *Config) Merge(text []byte, name string) error {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return configErrorf("%s: %.300s", name, strings.TrimPrefix(err.Error(), "toml: "))
	}
	given := map[string]any{} // by key; a table other than a section is one value
	for table, v := range tree {
		section, ok := v.(map[string]any)
		if !ok || !slices.Contains(sections, table) {
			given[toml.Key{table}.String()] = v
			continue
		}
		for key, v := range section {
			given[toml.Key{table, key}.String()] = v
		}
	}
	if err := c.assign(given); err != nil {
		return configErrorf("%s: %w", name, err)
	}
	return nil
}

// sections are the tables of a configuration.
var sections = []string{"data", "model", "ssm", "ablate", "optim", "train"}

// assign sets decoded TOML values by their keys. After an error c is unchanged.
func (c *Config) assign(given map[string]any) error {
	next := *c
	next.Data = maps.Clone(c.Data)
	fields := option.Fields(&next)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		v := given[key]
		if name, ok := strings.CutPrefix(key, "data."); ok {
			value, err := c.dataOption(name, v)
			if err != nil {
				return err
			}
			if next.Data == nil {
				next.Data = model.Settings{}
			}
			next.Data[name] = value
			continue
		}
		if slices.Contains(sections, key) {
			return fmt.Errorf("%s is a section: set one of its keys, as in %s.KEY=VALUE", key, key)
		}
		i := slices.IndexFunc(fields, func(f option.Field) bool { return f.Key == key })
		if i < 0 {
			return c.unknownKey(key)
		}
		if err := fields[i].Set(v); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	*c = next
	return nil
}

// dataOption returns the value that v gives an option of the data. If there are options, it must be
// one of them and v must have its kind. Otherwise the task is not known yet, and Config.Validate
// checks the value.
func (c *Config) dataOption(name string, v any) (any, error) {
	old, known := c.Data[name]
	whole, isWhole := v.(int64)
	_, wasNumber := old.(float64)
	switch {
	case !known && len(c.Data) > 0:
		return nil, c.unknownKey("data." + name)
	case wasNumber && isWhole:
		return float64(whole), nil
	case known && option.Kind(v) != option.Kind(old):
		return nil, fmt.Errorf("data.%s: %w", name, option.Mismatch(v, old))
	}
	return v, nil
}

// unknownKey returns the error for a key that the configuration does not have.
func (c *Config) unknownKey(key string) error {
	known := slices.Concat(slices.Sorted(maps.Keys(c.values())), sections)
	return fmt.Errorf("unknown key %.80s%s", key, suggest.Hint(key, known))
}

// Set replaces one value: "ssm.init=legs" or "optim.milestones=[10, 20]". The value is TOML. A
// string needs no quotes.
func (c *Config) Set(assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !ok || key == "":
		return configErrorf("--set %s: expected key=value", assignment)
	case !plainKey.MatchString(key):
		return configErrorf("--set %q: key %q: expected letters, digits, _ and dots", assignment, key)
	}
	var parsed struct{ X any }
	if toml.Unmarshal([]byte("x = "+value), &parsed) == nil && c.assign(map[string]any{key: parsed.X}) == nil {
		return nil
	}
	if err := c.assign(map[string]any{key: value}); err != nil { // a text without quotes
		return configErrorf("--set %s: %w", assignment, err)
	}
	return nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// SetOption sets an option of the data, such as "rate". The types of values are those of
// model.Settings.
func (c *Config) SetOption(name string, v any) error {
	if err := c.assign(map[string]any{"data." + name: v}); err != nil {
		return configErrorf("%w", err)
	}
	return nil
}

// Encode writes the configuration as TOML.
func (c *Config) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("train: configuration: %w", err)
	}
	return b.Bytes(), nil
}

// values returns the texts of all values by their keys.
func (c *Config) values() map[string]string {
	all := map[string]string{}
	for _, f := range option.Fields(c) {
		all[f.Key] = fmt.Sprint(f.Value())
	}
	for name, v := range c.Data {
		all["data."+name] = fmt.Sprint(v)
	}
	return all
}

// Differences returns the sorted keys of the values in which two configurations differ, without
// those that a resumed run may change. A missing option of the data is zero.
func (c *Config) Differences(o *Config) []string {
	here, there := c.values(), o.values()
	for _, pair := range [][2]*Config{{c, o}, {o, c}} {
		for name, v := range pair[0].Data {
			if _, ok := pair[1].Data[name]; !ok && model.IsZeroSetting(v) {
				delete(here, "data."+name)
				delete(there, "data."+name)
			}
		}
	}
	all := maps.Clone(here)
	maps.Copy(all, there)
	maps.DeleteFunc(all, func(key, _ string) bool { return here[key] == there[key] || slices.Contains(resumable, key) })
	return slices.Sorted(maps.Keys(all))
}

// resumable are the values that a resumed run may change. train.max_steps is not among them: if it
// ends a run within an epoch, that epoch counts as complete.
var resumable = []string{
	"threads", "data.dir", "train.epochs", "train.patience", "train.checkpoint_every",
}
