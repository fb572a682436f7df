package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

func TestPrintable(t *testing.T) {
	for text, expected := range map[string]string{
		"seven":            "seven",
		"größer als \"π\"": "größer als \"π\"",
		"\x1b[31mred":      `\x1b[31mred`,
		"two\nlines\t":     `two\nlines\t`,
		"\u009b2J":         `\u009b2J`,
		"\u202egnp.exe":    `\u202egnp.exe`,
		"it's \\n":         `it's \n`,
		"bad \xff byte":    "bad \ufffd byte",
	} {
		must.Equal(t, printable(text, ""), expected, "printable(%q)", text)
	}
	must.Equal(t, printable("a\nb\x1b", "\n"), "a\nb\\x1b", "with line breaks kept")
}

// Control characters in a model's labels reach neither standard output nor an error message as they
// are.
func TestControlCharactersInModel(t *testing.T) {
	m := must.Get(model.Load(digitsModel(t)))(t)
	m.Meta.Labels, m.Meta.Task = []string{"a\x1b[2J", "b\nc", "d\u009b"}, "fs\x1bdd"
	dir := t.TempDir()
	path := filepath.Join(dir, "m\x07.safetensors")
	if err := m.Save(path); err != nil {
		t.Skipf("this system has no such file name: %v", err)
	}
	for _, args := range [][]string{
		{"inspect", path},
		{"eval", path, "--data", dir},
		{"stream", path, filepath.Join(dir, "gone\x1b.wav")},
		{"convert", path, filepath.Join(dir, "m.pth")},
	} {
		_, stdout, stderr := invoke(nil, args...)
		for name, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) }); i >= 0 {
				t.Errorf("%s: %s has a control character: %q", args[0], name, text[i:min(len(text), i+20)])
			}
		}
	}
	if out := ok(t, "inspect", path); !strings.Contains(out, `a\x1b[2J b\nc d\u009b`) {
		t.Errorf("inspect does not show the labels:\n%s", out)
	}
}
