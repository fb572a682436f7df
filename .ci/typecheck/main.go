// Command typecheck checks the types of a program and of what it imports for other systems, which
// takes a tenth of the time of compiling them:
//
//	go run ./.ci/typecheck ./cmd/s4d-fast windows/arm64 darwin/arm64
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// imports are the packages that a package imports, by the path in its files.
type imports func(path string) *types.Package

// Import implements types.Importer.
func (p imports) Import(path string) (*types.Package, error) {
	if pkg := p(path); pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s was not checked", path)
}

// parsed are the files that packages of several systems share.
var files, parsed = token.NewFileSet(), map[string]*ast.File{}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: typecheck PACKAGE OS/ARCHITECTURE...")
	}
	for _, target := range os.Args[2:] {
		n, err := check(os.Args[1], target)
		if err != nil {
			log.Fatalf("%s: %v", target, err)
		}
		log.Printf("%s: %d packages", target, n)
	}
}

// check returns the number of packages.
func check(program, target string) (int, error) {
	system, architecture, _ := strings.Cut(target, "/")
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", program)
	list.Env, list.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture), os.Stderr
	out, err := list.Output()
	if err != nil {
		return 0, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Module          *struct{ Main bool }
		}
		if err := d.Decode(&p); err != nil {
			return 0, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			if parsed[path] == nil {
				if parsed[path], err = parser.ParseFile(files, path, nil, parser.SkipObjectResolution); err != nil {
					return 0, err
				}
			}
			syntax = append(syntax, parsed[path])
		}
		imported := imports(func(path string) *types.Package { return checked[cmp.Or(p.ImportMap[path], path)] })
		foreign := p.Module == nil || !p.Module.Main
		conf := types.Config{Importer: imported, Sizes: types.SizesFor("gc", architecture), IgnoreFuncBodies: foreign, FakeImportC: true}
		if checked[p.ImportPath], err = conf.Check(p.ImportPath, files, syntax, nil); err != nil {
			return 0, err
		}
	}
	return len(checked), nil
}
