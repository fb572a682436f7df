package pretrained

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every model is small enough for the binary, has what package events requires, and has a section
// in README.md.
func TestModels(t *testing.T) {
	readme := must.Get(os.ReadFile("README.md"))(t)
	if !slices.Equal(Names(), []string{"digits"}) {
		t.Fatalf("models %q", Names())
	}
	for _, name := range Names() {
		m := must.Get(Load(name))(t)
		if !Has(name) || len(m.Meta.Labels) != m.Config.DOutput || m.Meta.SampleRate <= 0 || m.Config.SSM.Bidirectional {
			t.Errorf("%s: %+v cannot stream", name, m.Meta)
		}
		if info, err := os.Stat(name + suffix); err != nil || info.Size() > 600_000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if !strings.Contains(string(readme), "## "+name+"\n") {
			t.Errorf("README.md has no section %s", name)
		}
	}
}

func TestNoModel(t *testing.T) {
	for _, name := range []string{"", "letters", "../digits", "digits.safetensors"} {
		if _, err := Load(name); Has(name) || err == nil || !strings.Contains(err.Error(), "digits") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
