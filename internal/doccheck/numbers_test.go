package doccheck

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The figures of README.md's results and limits stand in the pages that record them, with the same
// unit; so do the errors of its example. The summary of docs/benchmarks.md stands in the recorded
// tables; and the graph of speed-ups shows the summary.
func TestNumbersHaveSources(t *testing.T) {
	page := func(name string) string { return string(must.Get(os.ReadFile(filepath.Join(root, name)))(t)) }
	rows := func(text, heading, begin string) (list []string) {
		_, text, _ = strings.Cut(text, "\n"+heading+"\n")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				break
			}
			if strings.HasPrefix(line, begin) {
				list = append(list, line)
			}
		}
		return list
	}
	figure := regexp.MustCompile(`\d[\d.,]*(?: (?:ms|µs|ns|s|images/s|/s|clips|predictions)\b| %|×)`)
	readme, benchmarks, processors := page("README.md"), page("docs/benchmarks.md"), page("docs/processors.md")
	found := 0
	check := func(in, where string, rows []string, sources ...string) {
		for _, row := range rows {
			for _, f := range figure.FindAllString(row, -1) {
				found++
				number := f // with its unit, unless a source may have that in a heading or after an error
				for _, unit := range []string{" /s", " images/s", " %", " clips", " predictions"} {
					number = strings.TrimSuffix(number, unit)
				}
				if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, number) }) {
					t.Errorf("%s: %s, which %s does not have", in, f, where)
				}
			}
		}
	}
	summary := rows(benchmarks, "## Summary", "| ")[1:]
	check("README.md", "its source", rows(readme, "## Results", "| "), benchmarks, processors, page("docs/training.md"))
	check("README.md", "REPRODUCTION.md", rows(readme, "## When not to use it", ""), page("REPRODUCTION.md"))
	for _, row := range summary { // speed-ups are rounded
		cells := strings.Split(row, "|")
		check("docs/benchmarks.md", "docs/processors.md", cells[3:5], processors)
		if speedUp := strings.TrimSpace(cells[5]); !strings.Contains(page("docs/figures/speed.svg"), ">"+speedUp+" ") {
			t.Errorf("docs/figures/speed.svg lacks %s: run docs/figures/pictures.py", speedUp)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(network|last value|value one season.*) +([\d.]+) +`).FindAllStringSubmatch(readme, -1) {
		found++
		if rmse := fmt.Sprintf("| %.1f", must.Get(strconv.ParseFloat(m[2], 64))(t)); !strings.Contains(page("docs/data.md"), rmse) {
			t.Errorf("README.md: %s has the error %s, which docs/data.md does not have", m[1], m[2])
		}
	}
	if seeds := "27.1, 26.4, 26.3"; !strings.Contains(readme, seeds) || !strings.Contains(page("docs/data.md"), seeds) {
		t.Errorf("README.md and docs/data.md do not both have %s", seeds)
	}
	worst := 0.0 // false events per minute of the built-in model digits
	for _, row := range rows(page("pretrained/README.md"), "### False events", "| ")[1:] {
		worst = max(worst, must.Get(strconv.ParseFloat(strings.TrimSpace(strings.Split(row, "|")[3]), 64))(t))
	}
	if worst != 0.5 || !strings.Contains(readme, "one false event every two minutes") {
		t.Errorf("README.md does not have the %v false events per minute of pretrained/README.md", worst)
	}
	if found < 25 {
		t.Errorf("%d figures found", found)
	}
}
