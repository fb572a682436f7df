package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Every promise has a test in its package, is reported by that package, and is in the document.
func TestPromises(t *testing.T) {
	root := filepath.Join("..", "..")
	page := string(must.Get(os.ReadFile(filepath.Join(root, "docs", "reliability.md")))(t))
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for i, p := range promises {
		if slices.ContainsFunc(promises[:i], func(q promise) bool { return q.text == p.text }) {
			t.Errorf("%q occurs twice", p.text)
		}
		var source strings.Builder
		for _, path := range must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(p.folder()), "*_test.go")))(t) {
			source.Write(must.Get(os.ReadFile(path))(t))
		}
		var tests []string
		for _, m := range function.FindAllStringSubmatch(source.String(), -1) {
			tests = append(tests, m[1])
		}
		for _, pattern := range []string{p.pattern(false), p.pattern(true)} {
			for part := range strings.SplitSeq(pattern, "|") {
				if !slices.ContainsFunc(tests, regexp.MustCompile("^("+part+")$").MatchString) {
					t.Errorf("%q: %s has no test %q", p.text, p.folder(), part)
				}
			}
		}
		if !strings.Contains(source.String(), fmt.Sprintf("%q", p.text)) {
			t.Errorf("%q: no test of %s reports it", p.text, p.folder())
		}
		if !strings.Contains(page, p.row(false)) && !strings.Contains(page, p.row(true)) {
			t.Errorf("docs/reliability.md lacks the row %s", p.row(false))
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z0-9/-]+)`: (`Test.+`) \\|").FindAllStringSubmatch(page, -1) {
		var source strings.Builder
		for _, path := range must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(row[1]), "*_test.go")))(t) {
			source.Write(must.Get(os.ReadFile(path))(t))
		}
		for name := range strings.SplitSeq(row[2], ", ") {
			if !strings.Contains(source.String(), "func "+strings.Trim(name, "`")+"(") {
				t.Errorf("docs/reliability.md: %s has no test %s", row[1], name)
			}
		}
	}
	folders := map[string][]string{} // of the main module's tests, by their names
	must.Do(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if _, module := os.Stat(filepath.Join(path, "go.mod")); module == nil && path != root {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			folders[string(m[1])] = append(folders[string(m[1])], filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	}))
	skipped := regexp.MustCompile(testNames(promises))
	for name, in := range folders {
		for _, folder := range in {
			promised := func(p promise) bool {
				return filepath.ToSlash(filepath.Join(root, filepath.FromSlash(p.folder()))) == folder && matches(p.test)(name)
			}
			if skipped.MatchString(name) && !slices.ContainsFunc(promises, promised) {
				t.Errorf("%s of %s has the name of a promise's test, so that .ci/run skips it: rename it", name, folder)
			}
		}
	}
}

// The table of the document has the promises in their order, and all cases held. The numbers of
// cases are those that the project is required to try, or more.
func TestTable(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/reliability.md"))(t))
	_, table, found := strings.Cut(page, "| promise | test | tried | held | form |\n|---|---|---|---|---|\n")
	must.Equal(t, found, true, "the page has the table")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	must.Equal(t, len(rows), len(promises), "rows")
	numbers := regexp.MustCompile(`^(\d+) \| (\d+) \| (short|long) \|$`)
	tried := make([]int, len(promises)) // by promise
	for i, p := range promises[:min(len(rows), len(promises))] {
		for _, long := range []bool{false, true} {
			rest, ok := strings.CutPrefix(rows[i], p.row(long))
			if m := numbers.FindStringSubmatch(rest); ok && m != nil && (m[3] == "long") == long {
				must.Equal(t, m[1], m[2], "%q: cases that held", p.text)
				tried[i], _ = strconv.Atoi(m[1])
			}
		}
		if tried[i] == 0 && !strings.HasPrefix(rows[i], p.row(false)+"skipped: ") {
			t.Errorf("row %d: %s, expected %sTRIED | HELD | FORM |", i+1, rows[i], p.row(false))
		}
	}
	for text, least := range map[string]int{ // sums over the promises that match
		"^a run that is killed at any moment":          140,
		"^the number of threads":                       50,
		"^after a hostile exchange no stream":          17_000,
		"^a stream has every event once over restarts": 480,
		"^a stream has every event once after kills":   192,
		"^a mutated .* file|^a mutated PyTorch":        143_000,
		"over an open WebSocket":                       1545,
		"^a detector has the same events":              2 * 44 * 60, // minutes of 44 hours, for two models
	} {
		sum, match := 0, regexp.MustCompile(text)
		for i, p := range promises {
			if match.MatchString(p.text) {
				sum += tried[i]
			}
		}
		if sum < least {
			t.Errorf("docs/reliability.md has %d cases of %q, expected at least %d", sum, text, least)
		}
	}
	for text, least := range map[string]int{`restarts\s+the\s+service\s+(\d+)\s+times`: 53, `kills\s+it\s+(\d+)\s+times`: 22} {
		n := 0
		if m := regexp.MustCompile(text).FindStringSubmatch(page); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		if n < least {
			t.Errorf("docs/reliability.md has the number %d in %q, expected at least %d", n, text, least)
		}
	}
}

// The document lists the fuzz targets of .ci/fuzz and how long they ran, and every reader in it has
// one. Packages with targets measure allocations.
func TestFuzzTargetsDocumented(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("requires bash")
	}
	page := string(must.Get(os.ReadFile("../../docs/reliability.md"))(t))
	var documented []string // FOLDER TARGET
	for _, m := range regexp.MustCompile("`([a-z0-9/]+)` (Fuzz\\w+(?:, Fuzz\\w+)*)").FindAllStringSubmatch(page, -1) {
		for target := range strings.SplitSeq(m[2], ", ") {
			documented = append(documented, "./"+m[1]+" "+target)
		}
	}
	seconds := fuzzedSeconds(t)
	count, hour := 0, 0
	for line := range strings.Lines(string(must.Get(exec.Command("../../.ci/fuzz", "list").Output())(t))) {
		line = strings.TrimSpace(line)
		if count++; seconds[line] >= 3600 {
			hour++
		}
		delete(seconds, line)
		folder, target, _ := strings.Cut(line, " ")
		if i := slices.Index(documented, line); i >= 0 {
			documented = slices.Delete(documented, i, i+1)
		} else {
			t.Errorf("docs/reliability.md lacks `%s` %s", strings.TrimPrefix(folder, "./"), target)
		}
		var tests strings.Builder
		for _, path := range must.Get(filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go")))(t) {
			tests.Write(must.Get(os.ReadFile(path))(t))
		}
		if !regexp.MustCompile(`must\.(Allocated|Allocates|HugeNumbers)\(`).MatchString(tests.String()) {
			t.Errorf("no test of %s measures allocations", folder)
		}
	}
	for _, d := range documented {
		t.Errorf("docs/reliability.md: .ci/fuzz has no target %s, or it occurs twice", d)
	}
	for target := range seconds {
		t.Errorf("docs/fuzzing.txt: .ci/fuzz has no target %s", target)
	}
	want := fmt.Sprintf("Of %d targets, %d have had at least an hour:", count, hour)
	if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
		t.Errorf("docs/reliability.md lacks this sentence, the sum of docs/fuzzing.txt: %s", want)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| .* \| – \|$`).FindAllString(page, -1) {
		t.Errorf("docs/reliability.md: a reader without a fuzz target: %s", row)
	}
}

// fuzzedSeconds returns the processor time of each "FOLDER TARGET" in docs/fuzzing.txt.
func fuzzedSeconds(t *testing.T) map[string]int {
	sum := map[string]int{}
	for line := range strings.Lines(string(must.Get(os.ReadFile("../../docs/fuzzing.txt"))(t))) {
		var commit, folder, target, result string
		var seconds, executions int
		must.Get(fmt.Sscan(line, &commit, &folder, &target, &seconds, &executions, &result))(t)
		sum[folder+" "+target] += seconds
	}
	return sum
}

// events is what go test -json prints of tests with the given output; a test with a reason is
// skipped.
func events(failed bool, lines ...string) []byte {
	var b strings.Builder
	for _, l := range lines {
		test, text, _ := strings.Cut(l, " ")
		fmt.Fprintf(&b, "{\"Action\":\"output\",\"Test\":%q,\"Output\":%q}\n", test, "    a_test.go:7: "+text+"\n")
		if !strings.HasPrefix(text, "promise ") {
			fmt.Fprintf(&b, "{\"Action\":\"skip\",\"Test\":%q}\n", test)
		}
	}
	if failed {
		b.WriteString("{\"Action\":\"fail\"}\n")
	}
	return []byte(b.String())
}

func TestRun(t *testing.T) {
	list := []promise{
		{text: "one", pkg: "a", test: "TestOne|TestMore"},
		{text: "two \"quoted\"", module: "m", pkg: "b", test: "TestTwo", long: "TestTwoLong"},
		{text: "three", pkg: "a", test: "TestThree"},
	}
	for name, c := range map[string]struct {
		a, b   []byte
		long   bool
		err    string
		expect []string
	}{
		"all hold": {
			events(false, `TestOne promise "one": 3 tried, 3 held`, `TestMore/x promise "one": 4 tried, 4 held`, "TestMore/z not root", "TestThree/y no loop devices"),
			events(false, `TestTwo promise "two \"quoted\"": 1 tried, 1 held`),
			false, "", []string{
				"| one | `a`: `TestOne`, `TestMore` | 7 | 7 | short |", "| two \"quoted\" | `m/b`: `TestTwo` | 1 | 1 | short |",
				"| three | `a`: `TestThree` | skipped: no loop devices | | short |",
				"", "Not all cases were tried:", "- `a`: `TestMore/z` was skipped: not root",
				"", "Rows of docs/reliability.md with other numbers:", "| one | `a`: `TestOne`, `TestMore` | 8 | 8 | short |",
			},
		},
		"one broken, one missing, of another test": {
			events(true, `TestOne promise "one": 3 tried, 2 held`, `TestMore promise "one": 1 tried, 1 held`, `TestOne promise "three": 3 tried, 3 held`),
			events(false, `TestTwoLong promise "two \"quoted\"": 9 tried, 9 held`),
			true, "failed: one; the tests of a; three", []string{
				"| one | `a`: `TestOne`, `TestMore` | 4 | 3 | long |", "| two \"quoted\" | `m/b`: `TestTwoLong` | 9 | 9 | long |",
				"| three | `a`: `TestThree` | **not reported by `TestThree`** | | long |",
			},
		},
		"one of two tests does not report": {
			events(false, `TestOne promise "one": 3 tried, 3 held`, `TestThree promise "three": 2 tried, 2 held`),
			events(false, `TestTwo promise "two \"quoted\"": 1 tried, 1 held`),
			false, "failed: one", []string{
				"| one | `a`: `TestOne`, `TestMore` | **not reported by `TestMore`** | | short |", "| two \"quoted\" | `m/b`: `TestTwo` | 1 | 1 | short |",
				"| three | `a`: `TestThree` | 2 | 2 | short |",
			},
		},
	} {
		const page = "| one | `a`: `TestOne`, `TestMore` | 8 | 8 | short |\n| two \"quoted\" | `m/b`: `TestTwo` | 1 | 1 | short |\n" +
			"| two \"quoted\" | `m/b`: `TestTwoLong` | 8 | 8 | short |\n| three | `a`: `TestThree` | 2 | 2 | short |\n"
		var table strings.Builder
		var calls []string
		err := run(&table, list, page, c.long, func(module, pkg, pattern string, long bool) ([]byte, error) {
			calls = append(calls, fmt.Sprint(module, " ", pkg, " ", pattern, " ", long))
			if pkg == "a" {
				return c.a, nil
			}
			return c.b, nil
		})
		if c.err == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, c.err)
		}
		expect := append([]string{"| promise | test | tried | held | form |", "|---|---|---|---|---|"}, c.expect...)
		must.Equal(t, table.String(), strings.Join(expect, "\n")+"\n", "%s: table", name)
		two := map[bool]string{false: "m b ^(TestTwo)$ false", true: "m b ^(TestTwoLong)$ true"}[c.long]
		must.Equal(t, fmt.Sprint(calls), fmt.Sprint([]string{fmt.Sprint(" a ^(TestOne|TestMore|TestThree)$ ", c.long), two}), "%s: calls", name)
	}
}

// A run without promises is an error, and so are tests that were killed, although what they printed
// before looks complete.
func TestNothingRun(t *testing.T) {
	must.Fail(t, run(io.Discard, nil, "", false, nil), "no promise is selected")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	const printed = "#!/bin/sh\necho '{\"Action\":\"pass\",\"Test\":\"TestOne\"}'\n"
	for end, want := range map[string]string{"kill -9 $$": "killed", "exit 1": "", "exit 0": ""} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "go"), []byte(printed+end+"\n"), 0o777))
		out, err := test("", "pkg", "TestOne", false)
		if want == "" {
			must.Do(t, err)
			must.Equal(t, strings.Contains(string(out), "TestOne"), true, "events")
		} else {
			must.Fail(t, err, want)
		}
	}
}

func TestLongVariable(t *testing.T) { must.Equal(t, longVariable, must.LongVariable, "variable") }

func TestNames(t *testing.T) {
	list := []promise{{test: "TestA"}, {test: "TestC|TestD"}, {test: "TestA"}, {module: "m", test: "TestE"}}
	must.Equal(t, testNames(list), "^(TestA|TestC|TestD)$", "pattern")
}
