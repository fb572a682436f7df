// Package reporttest validates lines against report/schema.json. It is imported by tests only.
package reporttest

import (
	"os"
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
	path := "report/schema.json" // of the folder of a package, or of one above it
	for range 3 {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = "../" + path
	}
	return jsonschema.NewCompiler().Compile(path)
})
