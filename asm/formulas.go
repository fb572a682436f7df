package asm

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"
)

// target is the directory of the package that the kernels belong to.
const target = "../internal/vek"

// comments returns the first sentence of the comment of each function of this package and of the
// target, by the name of the function in lower case.
var comments = sync.OnceValues(func() (map[string]string, error) {
	first := map[string]string{}
	for _, dir := range []string{".", target} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil {
					first[strings.ToLower(fn.Name.Name)] = new(doc.Package).Synopsis(fn.Doc.Text())
				}
			}
		}
	}
	return first, nil
})

// formula returns what a kernel computes, as lines of a comment: the first sentence of the comment
// of the plain Go function, nameGeneric. If that has none, it is the one of the exported function,
// and for a part that of the generator.
func (f *file) formula(name string) []string {
	name = strings.ToLower(name)
	return wrapped(cmp.Or(f.first[name+"generic"], f.first[name]), 100-len("// "))
}

// wrapped breaks text into lines of a number of columns.
func wrapped(text string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > columns {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
