package train

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/suggest"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
)

// Merge replaces the values that a TOML text contains. Errors begin with name. An unknown key or a
// value of the wrong type is an error that names the key; c is then unchanged.
func (c *Config) Merge(text []byte, name string) error {
	if err := checkText(text); err != nil {
		return configErrorf("%s: %w", name, err)
	}
	next := *c
	next.Optim.Milestones, next.Optim.Freeze = slices.Clone(c.Optim.Milestones), slices.Clone(c.Optim.Freeze)
	next.Data = nil
	meta, err := toml.Decode(string(text), &next)
	if err != nil {
		return configErrorf("%s: %.300s", name, strings.TrimPrefix(err.Error(), "toml: "))
	}
	if err := c.checkKeys(meta.Keys()); err != nil {
		return configErrorf("%s: %w", name, err)
	}
	if next.Data, err = c.mergeData(next.Data); err != nil {
		return configErrorf("%s: %w", name, err)
	}
	if meta.IsDefined("level") {
		if err := checkLevel(meta, next.Level); err != nil {
			return configErrorf("%s: %w", name, err)
		}
	}
	*c = next
	return nil
}

// checkKeys returns an error for the first key that the configuration does not have. The decoder
// ignores case. If two keys differ only in case, either value could win.
func (c *Config) checkKeys(keys []toml.Key) error {
	all := Default()
	flat, err := all.flatten()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, ok := flat[key.String()]; !ok && key[0] != "data" && !slices.Contains(sections, key.String()) {
			return c.unknownKey(key.String())
		}
	}
	return nil
}

// sections are the tables of a configuration.
var sections = []string{"data", "model", "ssm", "ablate", "optim", "train"}

// mergeData returns c.Data with the given options in place of its own. If c.Data has options, a
// given option that is not among them is an error, unless it is zero: earlier versions recorded the
// options of all tasks.
func (c *Config) mergeData(given model.Settings) (model.Settings, error) {
	if len(given) == 0 {
		return c.Data, nil
	}
	merged := maps.Clone(c.Data)
	if merged == nil {
		merged = model.Settings{}
	}
	for _, key := range given.Keys() {
		v := given[key]
		old, known := c.Data[key]
		whole, isWhole := v.(int64)
		_, isNumber := v.(float64)
		_, wasNumber := old.(float64)
		list, wasList := old.([]any)
		unset := wasList && len(list) == 0 && (isWhole || isNumber) // a list, or a number without a default
		switch {
		case !isOption(v):
			return nil, fmt.Errorf("data.%s: %.80s: expected a text, a number, a truth value or a list of these", key, fmt.Sprint(v))
		case !known && len(c.Data) > 0 && model.IsZeroSetting(v):
			continue
		case !known && len(c.Data) > 0:
			return nil, c.unknownKey("data." + key)
		case wasNumber && isWhole:
			v = float64(whole)
		case known && !unset && kindOf(v) != kindOf(old):
			return nil, fmt.Errorf("data.%s: %.80s is not a valid %s", key, fmt.Sprint(v), kindOf(old))
		}
		merged[key] = v
	}
	return merged, nil
}

// errLevel is the error of a configuration that sets the level.
var errLevel = errors.New("level records the kernels that a run has used and cannot be set: choose them with --level or S4D_LEVEL")

// checkLevel accepts a level in the configuration that a run recorded, which has values in every
// section.
func checkLevel(meta toml.MetaData, level string) error {
	for _, key := range []string{"task", "seed", "threads", "model", "ssm", "optim", "train"} {
		if !meta.IsDefined(key) {
			return errLevel
		}
	}
	if known := []vek.Level{"", vek.Generic, vek.AVX2, vek.AVX512, vek.NEON}; !slices.Contains(known, vek.Level(level)) {
		return fmt.Errorf("level %.80q: expected one of %q", level, known[1:])
	}
	return nil
}

// unknownKey returns the error for a key that the configuration does not have.
func (c *Config) unknownKey(key string) error {
	flat, err := c.flatten()
	if err != nil {
		return err
	}
	if len(key) > 80 { // the hint takes time in proportion to the length
		return fmt.Errorf("unknown key %.80s…", key)
	}
	known := slices.Sorted(maps.Keys(flat))
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
	kind, err := c.kindOf(key)
	if key == "level" {
		err = errLevel
	}
	if err != nil {
		return configErrorf("--set %s: %w", assignment, err)
	}
	if c.Merge([]byte(key+" = "+value), "") == nil {
		return nil
	}
	quoted, err := quote(key, value)
	if err != nil {
		return configErrorf("--set %s: %w", assignment, err)
	}
	if c.Merge(quoted, "") == nil {
		return nil
	}
	return configErrorf("--set %s: %q is not a valid %s for %s", assignment, value, kind, key)
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// kindOf returns the kind of a key's value in words. An unknown key is an error that names it.
func (c *Config) kindOf(key string) (string, error) {
	tree, err := c.tree()
	if err != nil {
		return "", err
	}
	var at any = tree
	for part := range strings.SplitSeq(key, ".") {
		section, _ := at.(map[string]any)
		at = section[part]
	}
	option, isOption := strings.CutPrefix(key, "data.")
	switch {
	case at == nil && isOption && option != "" && len(c.Data) == 0: // the task is not known yet
		return "value", nil
	case at == nil:
		return "", c.unknownKey(key)
	}
	if _, ok := at.(map[string]any); ok {
		return "", fmt.Errorf("%s is a section: set one of its keys, as in %s.KEY=VALUE", key, key)
	}
	return kindOf(at), nil
}

// kindOf returns the kind of a value in words.
func kindOf(v any) string {
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
	return "" // a table or a date: no setting has it
}

// isOption reports whether v can be an option of the data. Config.Validate checks its value.
func isOption(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return !slices.ContainsFunc(list, func(e any) bool { return kindOf(e) == "" || kindOf(e) == "list" })
}

// quote writes key = "value" as TOML.
func quote(key, value string) ([]byte, error) {
	var b bytes.Buffer
	err := toml.NewEncoder(&b).Encode(map[string]string{"x": value})
	return bytes.Replace(b.Bytes(), []byte("x"), []byte(key), 1), err
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

// Differences returns the sorted keys of the values in which two configurations differ, without
// those that a resumed run may change.
func (c *Config) Differences(o *Config) ([]string, error) {
	here, err := c.flatten()
	if err != nil {
		return nil, err
	}
	there, err := o.flatten()
	if err != nil {
		return nil, err
	}
	var keys []string
	for k := range here {
		if _, ok := there[k]; ok && !slices.Contains(resumable, k) && here[k] != there[k] {
			keys = append(keys, k)
		}
	}
	for _, pair := range [][2]model.Settings{{c.Data, o.Data}, {o.Data, c.Data}} { // a missing option is zero
		for k, v := range pair[0] {
			if _, ok := pair[1][k]; !ok && k != DirKey && !model.IsZeroSetting(v) {
				keys = append(keys, "data."+k)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// difference describes the first value in which the recorded configuration of a run differs from c,
// as "key: there X, here Y", or returns "".
func (c *Config) difference(recorded *Config) (string, error) {
	keys, err := c.Differences(recorded)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	here, err := c.flatten()
	if err != nil {
		return "", err
	}
	there, err := recorded.flatten()
	return fmt.Sprintf("%s: there %s, here %s", keys[0], cmp.Or(there[keys[0]], "none"), cmp.Or(here[keys[0]], "none")), err
}

// Value returns the text of one value, such as that of "ssm.init".
func (c *Config) Value(key string) (string, error) {
	flat, err := c.flatten()
	if err != nil {
		return "", err
	}
	v, ok := flat[key]
	if !ok {
		return "", configErrorf("%w", c.unknownKey(key))
	}
	return v, nil
}

// resumable are the values that a resumed run may change. train.max_steps is not among them: if it
// ends a run within an epoch, that epoch counts as complete.
var resumable = []string{
	"threads", "level", "data.dir", "train.epochs", "train.patience", "train.eval_batch", "train.checkpoint_every",
}

// flatten maps "section.key" to the text of the value.
func (c *Config) flatten() (map[string]string, error) {
	tree, err := c.tree()
	if err != nil {
		return nil, err
	}
	flat := map[string]string{}
	for k, v := range tree {
		section, ok := v.(map[string]any)
		if !ok {
			flat[k] = fmt.Sprint(v)
			continue
		}
		for sk, sv := range section {
			flat[k+"."+sk] = fmt.Sprint(sv)
		}
	}
	return flat, nil
}

// tree returns the configuration as decoded TOML: values, and sections of values.
func (c *Config) tree() (map[string]any, error) {
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("train: configuration: %w", err)
	}
	return tree, nil
}
