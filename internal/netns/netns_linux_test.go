package netns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Tests are skipped where a part of a network is missing.
func TestNewSkips(t *testing.T) {
	for missing, want := range map[string]string{
		"*netns*": "network namespaces", "*bridge*": "virtual networks", "*veth*": "virtual networks", "": "require ip",
	} {
		dir := t.TempDir()
		if missing != "" { // a program that rejects some arguments
			script := "#!/bin/sh\ncase \"$*\" in *delete*) ;; " + missing + ") exit 1;; esac\n"
			must.Do(t, os.WriteFile(filepath.Join(dir, "ip"), []byte(script), 0o777))
		}
		t.Setenv("PATH", dir)
		_, err := Try(t)
		must.Fail(t, err, want, strings.Trim(missing, "*"))
		skipped := false
		t.Run(want, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			New(t)
		})
		must.Equal(t, skipped, true, "skipped without %q", missing)
	}
}
