package doccheck

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	title    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Every link from a document to a file of the repository, and to a heading in it, resolves.
func TestLinks(t *testing.T) {
	pages := map[string]string{}
	sources(t, func(name, text string) {
		if strings.HasSuffix(name, ".md") {
			pages[name] = fenced.ReplaceAllString(text, "")
		}
	})
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], ":") { // another site
				continue
			}
			target := name
			if m[1] != "" {
				target = path.Join(path.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
			found := m[2] == ""
			for _, h := range title.FindAllStringSubmatch(pages[target], -1) {
				found = found || strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			}
			if !found {
				t.Errorf("%s links to %s#%s: no heading has this name", name, m[1], m[2])
			}
		}
	}
}
