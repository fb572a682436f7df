package doccheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

const root = "../.."

// sources calls visit with every text file of the repository that people write, by its path from
// the root.
func sources(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "runs"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".toml", ".py"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		visit(filepath.ToSlash(name), string(text))
		return err
	})
	must.Do(t, err)
}

var (
	// A reference is docs/maths.md with sections, of which some have items: "docs/maths.md §1.6,
	// §2.4 items 1 and 2".
	reference = regexp.MustCompile(`maths\.md(?:\]\([^)]*\)|\))?((?:(?:,| and| –)? §\d+(?:\.\d+)?(?: items? \d(?: and \d)?)?)+)`)
	section   = regexp.MustCompile(`§(\d+(?:\.\d+)?)(?: items? (\d)(?: and (\d))?)?`)
	broken    = regexp.MustCompile(`\n\s*(?://|#)?\s*`) // a line break, inside a comment or not
	heading   = regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)\.? `)
)

// sections returns the text of every numbered section of docs/maths.md by its number.
func sections(t *testing.T) map[string]string {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.Join(root, "docs/maths.md")))(t)
	text, list := string(page), map[string]string{}
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		list[text[m[2]:m[3]]] = text[m[1]:end]
	}
	return list
}

func TestMathsReferences(t *testing.T) {
	list := sections(t)
	found := 0
	sources(t, func(path, text string) {
		for _, m := range reference.FindAllStringSubmatch(broken.ReplaceAllString(text, " "), -1) {
			for _, s := range section.FindAllStringSubmatch(m[1], -1) {
				found++
				body, ok := list[s[1]]
				if !ok {
					t.Errorf("%s refers to docs/maths.md §%s, which does not exist", path, s[1])
				}
				for _, item := range s[2:] {
					if item != "" && !strings.Contains(body, "\n"+item+". ") {
						t.Errorf("%s refers to docs/maths.md §%s item %s, which does not exist", path, s[1], item)
					}
				}
			}
		}
	})
	if found < 100 {
		t.Errorf("%d references found, expected more than 100: is the pattern out of date?", found)
	}
	// References inside the page itself.
	for number, body := range list {
		for _, s := range section.FindAllStringSubmatch(body, -1) {
			// "S4D §3.1" and the like are sections of the paper named before them.
			if _, ok := list[s[1]]; !ok && !strings.Contains(body, "S4D §"+s[1]) {
				t.Errorf("docs/maths.md §%s refers to §%s, which does not exist", number, s[1])
			}
		}
	}
}
