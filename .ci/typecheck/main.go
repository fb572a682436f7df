// Command typecheck checks the types of programs and of what they import for another system, which
// takes a tenth of the time of compiling them:
//
//	go run ./.ci/typecheck windows/arm64 ./cmd/s4d-fast
package main

import (
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

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: typecheck OS/ARCHITECTURE PACKAGE...")
	}
	system, architecture, _ := strings.Cut(os.Args[1], "/")
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard"}, os.Args[2:]...)...)
	list.Env, list.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture), os.Stderr
	out, err := list.Output()
	if err != nil {
		log.Fatal(err)
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
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
		files := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				log.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		imported := imports(func(path string) *types.Package { return checked[cmp.Or(p.ImportMap[path], path)] })
		conf := types.Config{Importer: imported, Sizes: types.SizesFor("gc", architecture), IgnoreFuncBodies: p.Standard, FakeImportC: true}
		if checked[p.ImportPath], err = conf.Check(p.ImportPath, files, parsed, nil); err != nil {
			log.Fatalf("%s: %v", os.Args[1], err)
		}
	}
	log.Printf("%s: %d packages", os.Args[1], len(checked))
}
