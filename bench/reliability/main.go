// Command reliability runs the tests of the promises in docs/reliability.md and prints a table of
// them:
//
//	go run ./bench/reliability [-long] [-run PATTERN]
//	go run ./bench/reliability -tests
//
// Run it in the root of the repository. It exits with 1 if a promise does not hold, if a test
// fails, if a test does not report its promise, or if no promise is selected. If a test is skipped
// on this machine, the table shows the reason. If the numbers of a row differ from those in
// docs/reliability.md that are of the same form, the row follows below the table.
//
// The short form takes about three minutes. The long form (-long) tries more cases, and takes much
// longer. -run selects promises by their text. -tests prints a pattern for go test -skip that
// matches the tests in the main module.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

// longVariable is the environment variable that selects the long form (must.LongVariable).
const longVariable = "S4D_LONG"

func main() {
	long := flag.Bool("long", false, "run the long form of each test")
	pattern := flag.String("run", "", "run only the promises whose text matches this regular `expression`")
	names := flag.Bool("tests", false, "print a pattern that matches the tests of the main module, and run none")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(2)
	}
	selected := slices.DeleteFunc(slices.Clone(promises), func(p promise) bool { return !match.MatchString(p.text) })
	if *names {
		fmt.Println(testNames(selected))
		return
	}
	page, err := os.ReadFile("docs/reliability.md")
	if err == nil {
		err = run(os.Stdout, selected, string(page), *long, test)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(1)
	}
}

// testNames returns a pattern that matches the tests of the promises of the main module.
func testNames(list []promise) string {
	var tests []string
	for _, p := range list {
		if p.module == "" && !slices.Contains(tests, p.test) {
			tests = append(tests, p.test)
		}
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}

// tester runs the tests of a package whose names match a pattern, and returns the events that go
// test -json prints.
type tester func(module, pkg, pattern string, long bool) ([]byte, error)

func test(module, pkg, pattern string, long bool) ([]byte, error) {
	cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout=12h", "-run="+pattern, "./"+pkg)
	cmd.Dir, cmd.Stderr = module, os.Stderr
	if long {
		cmd.Env = append(os.Environ(), longVariable+"=1")
	}
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.ExitCode() == 1 && len(out) > 0 {
		err = nil // a test failed, as the events show
	}
	return out, err
}

// folder returns the folder of the promise's package.
func (p *promise) folder() string { return path.Join(p.module, p.pkg) }

// pattern returns the pattern of the promise's tests, in one of the two forms.
func (p *promise) pattern(long bool) string {
	if long {
		return cmp.Or(p.long, p.test)
	}
	return p.test
}

// row returns the beginning of the promise's row in the table.
func (p *promise) row(long bool) string {
	return fmt.Sprintf("| %s | `%s`: `%s` | ", p.text, p.folder(), strings.ReplaceAll(p.pattern(long), "|", "`, `"))
}

// run runs the tests package by package, and prints a table of the promises in their order, and
// the rows that differ from those of the page.
func run(w io.Writer, list []promise, page string, long bool, test tester) error {
	if len(list) == 0 {
		return errors.New("no promise is selected: -run must match the text of one")
	}
	results := map[string]*result{} // by folder
	for _, p := range list {
		if results[p.folder()] != nil {
			continue
		}
		var tests []string
		for _, q := range list {
			if q.folder() == p.folder() && !slices.Contains(tests, q.pattern(long)) {
				tests = append(tests, q.pattern(long))
			}
		}
		events, err := test(p.module, p.pkg, "^("+strings.Join(tests, "|")+")$", long)
		if err != nil {
			return fmt.Errorf("%s: %w", p.folder(), err)
		}
		r, err := parse(bytes.NewReader(events))
		if err != nil {
			return fmt.Errorf("%s: %w", p.folder(), err)
		}
		if results[p.folder()] = r; r.failed {
			fmt.Fprintf(os.Stderr, "%s\n", r.output.String())
		}
	}
	fmt.Fprint(w, "| promise | test | tried | held | form |\n|---|---|---|---|---|\n")
	form := "short"
	if long {
		form = "long"
	}
	var broken, other []string
	for _, p := range list {
		r, pattern := results[p.folder()], p.pattern(long)
		tried, held, text, ok := r.tally(p.text, pattern)
		if held != tried || !ok {
			broken = append(broken, p.text)
		}
		row := fmt.Sprintf("%s%s | %s |\n", p.row(long), text, form)
		fmt.Fprint(w, row)
		written := regexp.MustCompile(regexp.QuoteMeta(p.row(long)) + `\d+ \| \d+ \| ` + form + ` \|\n`).FindString(page)
		if ok && tried > 0 && written != "" && written != row {
			other = append(other, written)
		}
	}
	printSkips(w, list, long, results)
	if len(other) > 0 {
		fmt.Fprintf(w, "\nRows of docs/reliability.md with other numbers:\n%s", strings.Join(other, ""))
	}
	for folder, r := range results {
		if r.failed {
			broken = append(broken, "the tests of "+folder)
		}
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return fmt.Errorf("failed: %s", strings.Join(broken, "; "))
	}
	return nil
}

// printSkips lists the skipped tests of promises that other tests reported: some cases of these
// promises were not tried.
func printSkips(w io.Writer, list []promise, long bool, results map[string]*result) {
	var lines []string
	for _, p := range list {
		r, is := results[p.folder()], matches(p.pattern(long))
		if tried, _, _, _ := r.tally(p.text, p.pattern(long)); tried == 0 {
			continue
		}
		for _, s := range r.skips {
			if l := fmt.Sprintf("- `%s`: `%s` was skipped: %s\n", p.folder(), s.test, s.reason); is(s.test) && !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\nNot all cases were tried:\n%s", strings.Join(lines, ""))
	}
}
