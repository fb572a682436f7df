package train

import (
	"bytes"
	"cmp"
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
	given, err := decode(text)
	if err != nil {
		return configErrorf("%s: %w", name, err)
	}
	if err := c.assign(given); err != nil {
		return configErrorf("%s: %w", name, err)
	}
	return nil
}

// decode returns the values of a TOML text by their keys. Any table other than a section of the
// configuration is one value.
func decode(text []byte) (map[string]any, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("%.300s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	given := map[string]any{}
	for name, v := range tree {
		section, ok := v.(map[string]any)
		if !ok || !slices.Contains(sections, name) {
			given[toml.Key{name}.String()] = v
			continue
		}
		for key, v := range section {
			given[toml.Key{name, key}.String()] = v
		}
	}
	return given, nil
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
// one of them and v must have its kind. Otherwise the task is not known yet.
func (c *Config) dataOption(name string, v any) (any, error) {
	old, known := c.Data[name]
	whole, isWhole := v.(int64)
	_, wasNumber := old.(float64)
	switch {
	case !isOption(v):
		return nil, fmt.Errorf("data.%s: %.80s: expected a text, a number, a truth value or a list of these", name, fmt.Sprint(v))
	case !known && len(c.Data) > 0 || name == "":
		return nil, c.unknownKey("data." + name)
	case wasNumber && isWhole:
		return float64(whole), nil
	case known && option.Kind(v) != option.Kind(old):
		return nil, fmt.Errorf("data.%s: %w", name, option.Mismatch(v, old))
	}
	return v, nil
}

// isOption reports whether v can be an option of the data. Config.Validate checks its value.
func isOption(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return !slices.ContainsFunc(list, func(e any) bool { return option.Kind(e) == "" || option.Kind(e) == "list" })
}

// unknownKey returns the error for a key that the configuration does not have.
func (c *Config) unknownKey(key string) error {
	if len(key) > 80 { // the hint takes time in proportion to the length
		return fmt.Errorf("unknown key %.80s…", key)
	}
	known := slices.Sorted(maps.Keys(c.values()))
	for _, k := range slices.Concat(known, sections) {
		if strings.EqualFold(k, key) {
			return fmt.Errorf("unknown key %s; did you mean %q?", key, k)
		}
	}
	return fmt.Errorf("unknown key %s%s", key, suggest.Hint(key, known))
}

// Set replaces one value: "ssm.init=legs" or "optim.milestones=[10, 20]". The value is TOML. A
// string needs no quotes.
func (c *Config) Set(assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case strings.ContainsAny(assignment, "\r\n"):
		return configErrorf("--set %q: expected one line", assignment)
	case !ok || key == "":
		return configErrorf("--set %s: expected key=value", assignment)
	case !plainKey.MatchString(key):
		return configErrorf("--set %q: key %q: expected letters, digits, _ and dots", assignment, key)
	}
	if given, err := decode([]byte("x = " + value)); err == nil && c.assign(map[string]any{key: given["x"]}) == nil {
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

// Value returns the text of one value, such as that of "ssm.init".
func (c *Config) Value(key string) (string, error) {
	v, ok := c.values()[key]
	if !ok {
		return "", configErrorf("%w", c.unknownKey(key))
	}
	return v, nil
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

// difference describes the first value in which the recorded configuration of a run differs from c,
// as "key: there X, here Y", or returns "".
func (c *Config) difference(recorded *Config) string {
	keys := c.Differences(recorded)
	if len(keys) == 0 {
		return ""
	}
	key := keys[0]
	return fmt.Sprintf("%s: there %s, here %s", key, cmp.Or(recorded.values()[key], "none"), cmp.Or(c.values()[key], "none"))
}

// resumable are the values that a resumed run may change. train.max_steps is not among them: if it
// ends a run within an epoch, that epoch counts as complete.
var resumable = []string{
	"threads", "data.dir", "train.epochs", "train.patience", "train.eval_batch", "train.checkpoint_every",
}
