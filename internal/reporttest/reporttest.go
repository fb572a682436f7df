// Package reporttest validates lines against the schema in docs/stream.md. It is imported by tests
// only.
package reporttest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Lines returns the lines of an output. A line that is not valid fails the test.
func Lines(t testing.TB, output string) []string {
	t.Helper()
	s := schema(t)
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

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	b := must.Get(os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "docs", "stream.md")))(t)
	_, text, found := strings.Cut(string(b), "```json\n")
	text, _, closed := strings.Cut(text, "\n```")
	if !found || !closed {
		t.Fatal("docs/stream.md has no ```json block with a schema")
	}
	doc := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("stream.json", doc))
	return must.Get(c.Compile("stream.json"))(t)
}
