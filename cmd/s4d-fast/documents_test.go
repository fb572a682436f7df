package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// documented matches the arguments of a command line of the program in a block of a document, up to
// a comment or the next command.
var documented = regexp.MustCompile(`(?m)^(?: {4}|)(?:[^\n` + "`" + `#]*[|;(] ?|)(?:\./|)(?:s4d-fast|go run \./cmd/s4d-fast) ([^\n#|;&<>)]*)`)

// commandBlock matches the parts of a Markdown text that show commands.
var commandBlock = regexp.MustCompile("(?ms)^```sh\n.*?^```|(?:^    [^\n]*\n)+")

// word matches a word of a shell's command line.
var word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// Every command line that a document shows has commands, arguments and flags of the program.
func TestDocumentedCommands(t *testing.T) {
	lines, values := 0, variables()
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "runs" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text := strings.ReplaceAll(string(must.Get(os.ReadFile(path))(t)), "\\\n", " ")
		for _, part := range commandBlock.FindAllString(text, -1) {
			for _, m := range documented.FindAllStringSubmatch(part, -1) {
				lines++
				args := word.FindAllString(m[1], -1)
				for i, arg := range args {
					args[i] = strings.NewReplacer("'", "", `"`, "").Replace(arg)
				}
				if _, err := kong.Must(&cli{}, values).Parse(args); err != nil {
					t.Errorf("%s: %s: %v", path, m[0], err)
				}
			}
		}
		return nil
	}))
	if lines < 60 {
		t.Errorf("%d command lines in all documents, expected more", lines)
	}
}
