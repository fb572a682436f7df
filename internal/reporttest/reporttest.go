// Package reporttest validates lines against report/schema.json. It is imported by tests only.
package reporttest

import (
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

// schema compiles report/schema.json.
var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	path := filepath.Join("report", "schema.json") // of the folder of a package, or of one above it
	for range 3 {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Join("..", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("stream.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("stream.json")
})
