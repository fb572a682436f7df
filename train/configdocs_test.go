package train

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// docs/configuration.md has every key with its default, and no other; the choices of ssm.init are
// all there.
func TestConfigurationIsDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/configuration.md"))(t)
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
	c := Default()
	text := must.Get(c.encode())(t)
	section, keys := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]") + "."
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if !ok {
			continue
		}
		keys++
		if got, ok := documented[section+key]; !ok || got != value {
			t.Errorf("%s%s = %s; the page says %q", section, key, value, got)
		}
	}
	if len(documented) != keys {
		t.Errorf("%d keys documented, there are %d", len(documented), keys)
	}
}
