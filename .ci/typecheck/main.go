// Command typecheck checks the types of a program and of what it imports for other systems, which
// takes a tenth of the time of compiling them:
//
//	go run ./.ci/typecheck ./cmd/s4d-fast windows/arm64 darwin/arm64
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
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
func (p imports) Import(path string) (*types.Package, error) { return p(path), nil }

func main() {
	log.SetFlags(0)
	s := &sources{token.NewFileSet(), map[string]*ast.File{}}
	for _, target := range os.Args[2:] {
		log.SetPrefix(target + ": ")
		s.check(os.Args[1], target)
	}
}

// sources are the files that packages of several systems share.
type sources struct {
	positions *token.FileSet
	parsed    map[string]*ast.File
}

// check checks a program and what it imports, for one system.
func (s *sources) check(program, target string) {
	system, architecture, _ := strings.Cut(target, "/")
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard", program)
	list.Env, list.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture), os.Stderr
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(bytes.NewReader(get(list.Output()))); d.More(); {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Standard        bool
		}
		if err := d.Decode(&p); err != nil {
			log.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			if s.parsed[path] == nil {
				s.parsed[path] = get(parser.ParseFile(s.positions, path, nil, parser.SkipObjectResolution))
			}
			files = append(files, s.parsed[path])
		}
		imported := imports(func(path string) *types.Package { return checked[cmp.Or(p.ImportMap[path], path)] })
		conf := types.Config{Importer: imported, Sizes: types.SizesFor("gc", architecture), IgnoreFuncBodies: p.Standard, FakeImportC: true}
		checked[p.ImportPath] = get(conf.Check(p.ImportPath, s.positions, files, nil))
	}
	log.Printf("%d packages", len(checked))
}

// get returns a value, or ends the program with an error.
func get[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
