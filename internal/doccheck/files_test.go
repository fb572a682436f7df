package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// writing are the functions of package os that create, write or rename files. Programs call those
// of package atomicfile instead, whose files outlast a power cut, and which tests make fail.
var writing = []string{
	"CopyFS", "Create", "CreateTemp", "Link", "Mkdir", "MkdirAll", "OpenFile", "OpenRoot", "Rename", "Symlink", "Truncate", "WriteFile",
}

// writers are the calls of such functions that are allowed, by the beginning of "FILE: FUNCTION",
// and the reasons.
var writers = map[string]string{
	"atomicfile/":                                   "implements the file system of package atomicfile",
	"audio/ffmpeg.go: os.CreateTemp":                "a copy of the input for ffmpeg, removed at its end",
	"bench/":                                        "measurements and corpora of developers",
	"cluster/data.go: ":                             "data of a worker: verified before the first use, and fetched again",
	"cluster/run.go: ":                              "run folder and log of a worker: the broker has the checkpoints",
	"cluster/worker.go: os.Mkdir":                   "folder of a worker: has nothing that another worker needs",
	"cmd/s4d-fast/data_fetch.go: ":                  "a folder that gets its name at the end; laid out again from the download",
	"internal/golden/":                              "files of tests",
	"internal/faultfs/":                             "files of tests",
	"internal/testfiles/":                           "files of tests",
	"studio/server.go: os.OpenRoot":                 "the folder of the projects, of which rootFS makes a file system of package atomicfile",
	"internal/generate/pathfinder.go: os.WriteFile": "images of data pathfinder: not synced one by one, and made again",
}

// Code that creates, writes or renames files uses package atomicfile, except where writers has the
// reason.
func TestFilesAreWrittenByAtomicfile(t *testing.T) {
	used := map[string]bool{}
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		set := token.NewFileSet()
		ast.Inspect(must.Get(parser.ParseFile(set, name, text, 0))(t), func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(writing, s.Sel.Name) {
				return true
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "os" {
				return true
			}
			call, known := fmt.Sprintf("%s: os.%s", name, s.Sel.Name), false
			for allowed := range writers {
				if strings.HasPrefix(call, allowed) {
					used[allowed], known = true, true
				}
			}
			if !known {
				t.Errorf("%s: os.%s, expected a function of package atomicfile; writers in files_test.go has the exceptions", set.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	})
	for allowed := range writers {
		if !used[allowed] {
			t.Errorf("no call begins with %q any more: remove it from writers", allowed)
		}
	}
}
