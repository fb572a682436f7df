package doccheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The figures of README.md's results stand in the pages that record them, in a row with the same
// unit; the summary of docs/benchmarks.md stands in the recorded tables; and the graph of speed-ups
// shows the summary.
func TestNumbersHaveSources(t *testing.T) {
	page := func(name string) string { return string(must.Get(os.ReadFile(filepath.Join(root, name)))(t)) }
	rows := func(text, heading string) (list []string) {
		_, text, _ = strings.Cut(text, "\n"+heading+"\n")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				break
			}
			if strings.HasPrefix(line, "| ") {
				list = append(list, line)
			}
		}
		return list[1:]
	}
	figure := regexp.MustCompile(`\d[\d.]*(?: (?:ms|µs|ns|%|images/s|/s)|×)`)
	readme, benchmarks, processors := page("README.md"), page("docs/benchmarks.md"), page("docs/processors.md")
	found := 0
	check := func(in, where string, rows []string, sources ...string) {
		for _, row := range rows {
			for _, f := range figure.FindAllString(row, -1) {
				found++
				number, _, _ := strings.Cut(f, " /s")
				number, _, _ = strings.Cut(number, " images/s")
				if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, number) }) {
					t.Errorf("%s: %s, which %s does not have", in, f, where)
				}
			}
		}
	}
	summary := rows(benchmarks, "## Summary")
	check("README.md", "its source", rows(readme, "## Results"), benchmarks, processors, page("docs/training.md"))
	for _, row := range summary { // speed-ups are rounded
		cells := strings.Split(row, "|")
		check("docs/benchmarks.md", "docs/processors.md", cells[3:5], processors)
		if speedUp := strings.TrimSpace(cells[5]); !strings.Contains(page("docs/figures/speed.svg"), ">"+speedUp+" ") {
			t.Errorf("docs/figures/speed.svg lacks %s: run docs/figures/pictures.py", speedUp)
		}
	}
	for _, seeds := range []string{"27.1, 26.4, 26.3", "35.3"} {
		if !strings.Contains(readme, seeds) || !strings.Contains(page("docs/data.md"), seeds) {
			t.Errorf("README.md and docs/data.md do not both have %s", seeds)
		}
	}
	if found < 20 {
		t.Errorf("%d figures found", found)
	}
}
