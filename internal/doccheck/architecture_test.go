package doccheck

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

const module = "github.com/s4d-fast/s4d-fast/"

// entry is a row of ARCHITECTURE.md's table of packages, or the same derived from the code.
type entry struct{ imports, modules []string }

var (
	row    = regexp.MustCompile("(?m)^\\| `([a-z0-9./-]+)` \\| [^|]* \\| ([^|]*) \\| ([^|]*) \\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
	major  = regexp.MustCompile(`^v\d+$`)
)

// documented returns the rows of the table by package, and the packages in their order.
func documented(t *testing.T) (rows map[string]entry, order []string) {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.Join(root, "ARCHITECTURE.md")))(t)
	rows = map[string]entry{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		var e entry
		for _, p := range quoted.FindAllStringSubmatch(m[2], -1) {
			e.imports = append(e.imports, p[1])
		}
		if m[3] != "–" {
			e.modules = strings.Split(m[3], ", ")
		}
		rows[m[1]] = e
		order = append(order, m[1])
	}
	return rows, order
}

// imported returns what the packages of the code import, on every platform; tests do not count.
func imported(t *testing.T) map[string]entry {
	t.Helper()
	required := modules(t)
	packages := map[string]entry{}
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly))(t)
		e := packages[path.Dir(name)]
		for _, spec := range file.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			if own, ok := strings.CutPrefix(p, module); ok {
				e.imports = append(e.imports, own)
			} else if strings.Contains(strings.Split(p, "/")[0], ".") {
				e.modules = append(e.modules, shortName(p, required))
			}
		}
		packages[path.Dir(name)] = e
	})
	for name, e := range packages {
		slices.Sort(e.imports)
		slices.Sort(e.modules)
		packages[name] = entry{slices.Compact(e.imports), slices.Compact(e.modules)}
	}
	return packages
}

// modules returns the modules that the go.mod files require.
func modules(t *testing.T) (list []string) {
	t.Helper()
	require := regexp.MustCompile(`(?m)^(?:require)?\s+([a-z0-9.-]+\.[^\s]+) v`)
	for _, dir := range []string{".", "asm", "cluster", "cluster/mpi", "service/s4d-fast-serve", "web/browsertest"} {
		text := must.Get(os.ReadFile(filepath.Join(root, dir, "go.mod")))(t)
		for _, m := range require.FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
	}
	return list
}

// shortName returns the last element of the module that a package belongs to, without its version.
func shortName(p string, required []string) string {
	for _, m := range required {
		if p == m || strings.HasPrefix(p, m+"/") {
			if base := path.Base(m); !major.MatchString(base) {
				return base
			}
			return path.Base(path.Dir(m))
		}
	}
	return p
}

func TestArchitectureImports(t *testing.T) {
	rows, order := documented(t)
	code := imported(t)
	for name, has := range code {
		want, ok := rows[name]
		if !ok {
			t.Errorf("package %s is missing from ARCHITECTURE.md's table", name)
			continue
		}
		compare(t, name, "package", has.imports, want.imports)
		compare(t, name, "module", has.modules, want.modules)
		for _, p := range has.imports {
			if slices.Index(order, p) > slices.Index(order, name) {
				t.Errorf("ARCHITECTURE.md lists %s below %s, which imports it", p, name)
			}
		}
	}
	for _, name := range order {
		if _, ok := code[name]; !ok {
			t.Errorf("ARCHITECTURE.md lists package %s, which does not exist", name)
		}
	}
}

// compare reports imports that the table does not allow, and those that it allows and that do not
// exist.
func compare(t *testing.T, name, kind string, has, allowed []string) {
	t.Helper()
	for _, p := range has {
		if !slices.Contains(allowed, p) {
			t.Errorf("%s imports %s %s, which ARCHITECTURE.md does not allow", name, kind, p)
		}
	}
	for _, p := range allowed {
		if !slices.Contains(has, p) {
			t.Errorf("ARCHITECTURE.md allows %s to import %s %s, which it does not", name, kind, p)
		}
	}
}
