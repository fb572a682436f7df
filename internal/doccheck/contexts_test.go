package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A context is a parameter of the functions of train and its packages, not a field that outlives a
// call.
func TestContextsAreParameters(t *testing.T) {
	files := 0
	must.Do(t, filepath.WalkDir(filepath.Join("..", "..", "train"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				if x, ok := f.Type.(*ast.SelectorExpr); ok && x.Sel.Name == "Context" {
					t.Errorf("%s: a field has the type context.Context, expected a parameter", set.Position(f.Pos()))
				}
			}
			return true
		})
		return nil
	}))
	if files < 50 {
		t.Errorf("%d files were checked", files)
	}
}
