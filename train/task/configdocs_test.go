package task

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
	"github.com/s4d-fast/s4d-fast/train"
)

// docs/configuration.md has every key with its default, and no other; the choices of ssm.init are
// all there.
func TestConfigurationIsDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/configuration.md"))(t)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| `(.*?)` \\| (.+) \\| .*\\|$").FindAllStringSubmatch(string(page), -1) {
		if _, ok := documented[row[1]]; ok {
			t.Errorf("%s is there twice", row[1])
		}
		documented[row[1]] = row[2]
		for _, scheme := range ssm.Inits() {
			if row[1] == "ssm.init" && !strings.Contains(row[3], "`"+string(scheme)+"`") {
				t.Errorf("ssm.init: %q is missing", scheme)
			}
		}
	}
	keys := map[string]bool{}
	for _, name := range Names() {
		c := must.Get(Lookup(name))(t).bare()
		c.Task = ""
		section := ""
		for line := range strings.Lines(encoded(t, c)) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "["); ok {
				section = strings.TrimSuffix(name, "]") + "."
				continue
			}
			key, value, ok := strings.Cut(line, " = ")
			if !ok {
				continue
			}
			keys[section+key] = true
			if got, ok := documented[section+key]; !ok || got != value {
				t.Errorf("task %s: %s%s = %s; the page says %q", name, section, key, value, got)
			}
		}
	}
	if len(documented) != len(keys) {
		t.Errorf("%d keys documented, there are %d", len(documented), len(keys))
	}
}

// encoded returns a configuration as TOML.
func encoded(t *testing.T, c train.Config) string {
	t.Helper()
	var b strings.Builder
	e := toml.NewEncoder(&b)
	e.Indent = ""
	must.Do(t, e.Encode(c))
	return b.String()
}
