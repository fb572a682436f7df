package generate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// evaluate returns the value of the expression at the head of symbols, and the symbols after it.
func evaluate(symbols []string) (value int, rest []string) {
	first, rest := symbols[0], symbols[1:]
	if first[0] != '[' {
		return int(first[0] - '0'), rest
	}
	var values []int
	for rest[0] != "]" {
		value, rest = evaluate(rest)
		values = append(values, value)
	}
	switch first[1:] {
	case "FIRST": // of published data, not of LRA's
		return values[0], rest[1:]
	case "LAST":
		return values[len(values)-1], rest[1:]
	}
	return applyOperator(first[1:], values), rest[1:]
}

func symbolsOf(tree string) []string {
	return strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(tree))
}

func TestOperators(t *testing.T) {
	for tree, want := range map[string]int{
		"[MAX 2 9 [MIN 4 7 ] 0 ]": 9, "[SM 6 5 9 0 ]": 0, "[MED 1 4 ]": 2, "[MED 9 1 5 ]": 5, "( ( ( [SM ( ( ( [MIN 3 ) 2 ) ] ) ) 9 ) ] )": 1,
	} {
		got, _ := evaluate(symbolsOf(tree))
		must.Equal(t, got, want, "value of %s", tree)
	}
}

// The operators give the value in every published line.
func TestRealListOps(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set")
	}
	files := must.Get(filepath.Glob(filepath.Join(root, "listops", "*.tsv")))(t)
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, path := range files {
		for line := range strings.Lines(string(must.Get(os.ReadFile(path))(t))) {
			label, tree, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if value, _ := evaluate(symbolsOf(tree)); strconv.Itoa(value) != label {
				t.Fatalf("%s: %s = %d, expected %s", path, tree, value, label)
			}
		}
	}
}

// Generated expressions have the lengths, the operators and the notation of LRA's, and the right
// values. Each occurs once.
func TestListOps(t *testing.T) {
	const n = 60
	var files [3]bytes.Buffer // the second is the first again
	for i := range files {
		must.Do(t, writeListOps(t.Context(), &files[i], n, i/2))
	}
	must.Equal(t, files[1].String() == files[0].String(), true, "a part has the same expressions again")
	lines := strings.Split(strings.TrimSpace(files[0].String()), "\n")
	must.Equal(t, len(lines), n+1, "lines")
	if strings.Contains(files[2].String(), lines[1]) {
		t.Error("two parts share an expression")
	}
	seen, used, digits := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, line := range lines[1:] {
		tree, label, _ := strings.Cut(line, "\t")
		if seen[tree] {
			t.Error("an expression twice")
		}
		seen[tree] = true
		digits[label]++
		symbols := symbolsOf(tree)
		for _, s := range symbols {
			used[s]++
		}
		if length := len(symbols); length <= listOpsAbove || length >= listOpsBelow {
			t.Errorf("an expression of length %d", length)
		}
		if value, rest := evaluate(symbols); strconv.Itoa(value) != label || len(rest) > 0 {
			t.Errorf("value %d, expected %s", value, label)
		}
	}
	if len(used) != 15 || len(digits) < 5 { // four operators, the bracket, ten digits
		t.Errorf("symbols %v, values %v", used, digits)
	}
}

// A command can be repeated in its folder, also after an interruption. Another command is rejected.
func TestListOpsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	noProgress := func(string, int) {}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	whole := func(path string, n int) { cancel(reason) } // after the first file
	must.Fail(t, ListOps(ctx, dir, 3, 2, whole), reason)
	files, err := filepath.Glob(filepath.Join(dir, "basic_*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "basic_train.tsv" {
		t.Errorf("an interruption leaves %v, %v", files, err)
	}
	for range 2 {
		if err := ListOps(t.Context(), dir, 3, 2, noProgress); err != nil {
			t.Error(err)
		}
	}
	before := must.Get(os.ReadFile(filepath.Join(dir, "basic_train.tsv")))(t)
	other := t.TempDir()
	testfiles.Write(t, filepath.Join(other, "basic_val.tsv"), "")
	for want, err := range map[string]error{
		"with the data of `s4d-fast data listops --n 3 --eval 2`": ListOps(t.Context(), dir, 4, 2, noProgress),
		filepath.Join(other, "basic_val.tsv"):                     ListOps(t.Context(), other, 3, 2, noProgress),
	} {
		must.Fail(t, err, os.ErrExist, want)
	}
	if !bytes.Equal(before, must.Get(os.ReadFile(filepath.Join(dir, "basic_train.tsv")))(t)) {
		t.Error("an error was returned, but the file has changed")
	}
}
