package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// maxBinary bounds the size of the command in bytes. A larger binary needs a reason.
const maxBinary = 28_500_000

// The documented build gives a static binary, also where a C compiler is installed. The packages
// net and os/user, which dependencies import, would otherwise link the C library.
func TestDocumentedBuildIsStatic(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := must.Get(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t)
	const build = "CGO_ENABLED=0 go build -ldflags=-w ./cmd/s4d-fast"
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		for line := range strings.Lines(string(read(t, page))) {
			if strings.Contains(line, "go build") && strings.HasSuffix(strings.TrimSpace(line), "./cmd/s4d-fast") && strings.TrimSpace(line) != build {
				t.Errorf("%s: the command %q, expected %q: others link the C library where gcc is installed, or make a larger file", page, strings.TrimSpace(line), build)
			}
		}
	}
	if testing.Short() {
		t.Skip("builds the command")
	}
	if runtime.GOOS != "linux" {
		t.Skip("checks an ELF file")
	}
	binary := filepath.Join(t.TempDir(), "s4d-fast")
	command := exec.Command("go", "build", "-ldflags=-w", "-o", binary, "./cmd/s4d-fast")
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Skipf("go build: %v: %s", err, out)
	}
	if info := must.Get(os.Stat(binary))(t); info.Size() > maxBinary {
		t.Errorf("the binary has %d bytes, expected at most %d: find the dependency that made it larger", info.Size(), maxBinary)
	}
	f := must.Get(elf.Open(binary))(t)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a program header %v: it is dynamically linked", p.Type)
		}
	}
}
