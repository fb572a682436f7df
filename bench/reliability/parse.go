package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is what the tests of a package reported.
type result struct {
	tallies []tally
	skips   []skip
	output  strings.Builder // of the tests
	failed  bool
}

// tally is a line of must.Tally.
type tally struct {
	test, promise string
	tried, held   int
}

// skip is a test or a subtest that was skipped, and the lines that it printed.
type skip struct{ test, reason string }

// event is a line of go test -json; see go doc test2json.
type event struct{ Action, Test, Output string }

// line matches the output of must.Tally.
var line = regexp.MustCompile(`: promise ("(?:[^"\\]|\\.)*"): (\d+) tried, (\d+) held\n$`)

// where matches the position before the text of a log line.
var where = regexp.MustCompile(`^\s*\w+\.go:\d+: `)

// parse reads the events of one package.
func parse(r io.Reader) (*result, error) {
	got, printed := &result{}, map[string]string{} // by test
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return got, nil
		} else if err != nil {
			return nil, fmt.Errorf("go test -json: %w", err)
		}
		switch e.Action {
		case "fail", "build-fail":
			got.failed = true
		case "skip":
			if e.Test != "" {
				got.skips = append(got.skips, skip{e.Test, strings.TrimSpace(printed[e.Test])})
			}
		case "output", "build-output":
			got.output.WriteString(e.Output)
			if where.MatchString(e.Output) {
				printed[e.Test] = where.ReplaceAllString(e.Output, "")
			}
			if m := line.FindStringSubmatch(e.Output); m != nil {
				t := tally{test: e.Test}
				var err error
				if t.promise, err = strconv.Unquote(m[1]); err != nil {
					return nil, fmt.Errorf("%s: %w", m[0], err)
				}
				t.tried, _ = strconv.Atoi(m[2]) // of digits
				t.held, _ = strconv.Atoi(m[3])
				got.tallies = append(got.tallies, t)
			}
		}
	}
}

// tally sums the numbers of a promise over its tests. text has the numbers, or the reason if all of
// its tests were skipped. If a test was not skipped and did not report the promise, ok is false,
// text names the test, and the sums lack the tests after it.
func (r *result) tally(promise, pattern string) (tried, held int, text string, ok bool) {
	var skipped string
	for name := range strings.SplitSeq(pattern, "|") {
		is, reported := matches(name), false
		for _, t := range r.tallies {
			if t.promise == promise && is(t.test) {
				tried, held, reported = tried+t.tried, held+t.held, reported || t.tried > 0
			}
		}
		i := slices.IndexFunc(r.skips, func(s skip) bool { return is(s.test) })
		switch {
		case reported:
		case i >= 0:
			skipped = cmp.Or(skipped, "skipped: "+r.skips[i].reason+" |")
		default:
			return tried, held, "**not reported by `" + name + "`** |", false
		}
	}
	if tried == 0 {
		return 0, 0, skipped, true
	}
	return tried, held, fmt.Sprintf("%d | %d", tried, held), true
}

// matches returns a function that reports whether a pattern of tests matches a test, or the test
// that has it as a subtest.
func matches(pattern string) func(test string) bool {
	return regexp.MustCompile("^(" + pattern + ")(/|$)").MatchString
}
