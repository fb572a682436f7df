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
	if !slices.Equal(Names(), []string{"commands", "digits", "wake"}) {
		t.Fatalf("models %q", Names())
	}
	limits := map[string]int64{"commands": 960_000, "digits": 650_000, "wake": 350_000} // bytes
	for _, name := range Names() {
		m := must.Get(Load(name))(t)
		must.Equal(t, Has(name), true, "Has(%q)", name)
		must.Equal(t, len(m.Meta.Labels), m.Config.DOutput, "%s: number of labels", name)
		if m.Meta.SampleRate <= 0 {
			t.Errorf("%s: sample rate %v, expected more than 0", name, m.Meta.SampleRate)
		}
		must.Equal(t, m.Config.SSM.Bidirectional, false, "%s: bidirectional, which cannot stream", name)
		if info, err := os.Stat(name + suffix); err != nil || info.Size() > limits[name] {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if !strings.Contains(string(readme), "## "+name+"\n") {
			t.Errorf("README.md has no section %s", name)
		}
	}
}

func TestNoModel(t *testing.T) {
	for _, name := range []string{"", "letters", "../digits", "digits.safetensors"} {
		must.Equal(t, Has(name), false, "Has(%q)", name)
		must.Reject(Load(name))(t, "digits")
	}
	must.Reject(Open("digitz"))(t, `did you mean "digits"?`)
}
