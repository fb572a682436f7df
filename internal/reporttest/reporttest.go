// Package reporttest validates lines against the schema in docs/stream.md. It is imported by tests
// only.
package reporttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Lines returns the lines of an output. A line that is not valid fails the test.
func Lines(t testing.TB, output string) []string {
	t.Helper()
	s := must.Get(schema())(t)
	all := strings.Split(strings.TrimSpace(output), "\n")
	for i, line := range all {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("line %d, %s: %v", i, line, err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("line %d, %s: %v", i, line, err)
		}
	}
	return all
}

// schema compiles the schema in docs/stream.md.
var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	path := filepath.Join("docs", "stream.md") // of the folder of a package, or of one above it
	for range 3 {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Join("..", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, text, found := strings.Cut(string(b), "```json\n")
	text, _, closed := strings.Cut(text, "\n```")
	if !found || !closed {
		return nil, errors.New("docs/stream.md has no ```json block with a schema")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("stream.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("stream.json")
})
