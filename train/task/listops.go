package task

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	register(definition[none]{name: "listops", help: "Expressions over digits, of the Long Range Arena.", source: listOpsSource, load: loadListOps})
}

const listOpsSource = "LRA's ListOps is published at github.com/google-research/long-range-arena (basic_train.tsv, basic_val.tsv, basic_test.tsv); " +
	"`s4d-fast data listops` generates such files"

// listOpsMax is the largest number of tokens of an expression without the end token (docs/maths.md
// §5.3).
const listOpsMax = 2047

// listOpsLine bounds the bytes of a line, far above the length of an expression.
const listOpsLine = 1 << 20

// loadListOps loads basic_train.tsv, basic_val.tsv and basic_test.tsv: a header, then lines of an
// expression, a tab and the value. The training file determines the vocabulary.
func loadListOps(ctx context.Context, src Source, _ none) (*dataset.Dataset, error) {
	if _, err := datafile.List(src.Dir); err != nil {
		return nil, err
	}
	texts := map[split][][]string{}
	sets := map[split]*tokenSet{}
	for _, s := range []split{trainSplit, valSplit, testSplit} {
		if s != trainSplit && !src.includes(s) { // the training file determines the vocabulary
			continue
		}
		path := filepath.Join(src.Dir, "basic_"+string(s)+".tsv")
		lines, labels, err := readListOps(path)
		switch {
		case errors.Is(err, os.ErrNotExist) && s != trainSplit:
			continue
		case err != nil:
			return nil, err
		}
		texts[s], sets[s] = lines, &tokenSet{labels: labels}
	}
	counts := map[string]int{}
	for _, symbols := range texts[trainSplit] {
		for _, s := range symbols {
			counts[s]++
		}
	}
	v := newVocabulary(counts, 1)
	for s, lines := range texts {
		for _, symbols := range lines {
			var tokens []uint16
			for _, x := range symbols[:min(len(symbols), listOpsMax)] {
				tokens = v.encode(tokens, x)
			}
			sets[s].tokens = append(sets[s].tokens, append(tokens, tokenEnd))
		}
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: strings.Split("0123456789", "")}, src, sets), nil
}

// readListOps returns the symbols and the value of every expression.
func readListOps(path string) (lines [][]string, labels []int, err error) {
	f, err := datafile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, listOpsLine)
	n := 1
	for ; in.Scan(); n++ {
		source, target, ok := strings.Cut(in.Text(), "\t")
		if n == 1 {
			if source != "Source" || strings.TrimSpace(target) != "Target" {
				return nil, nil, fmt.Errorf("%s: line 1: expected the header: Source, a tab, Target", path)
			}
			continue
		}
		label, err := strconv.Atoi(strings.TrimSpace(target))
		if !ok || err != nil || label < 0 || label > 9 {
			return nil, nil, fmt.Errorf("%s: line %d: expected an expression, a tab and a digit", path, n)
		}
		lines, labels = append(lines, listOpsSymbols(source)), append(labels, label)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, nil, fmt.Errorf("%s: line %d: longer than %d bytes", path, n, listOpsLine)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	case len(lines) == 0:
		return nil, nil, fmt.Errorf("%s contains no expressions", path)
	}
	return lines, labels, nil
}

// listOpsSymbols splits an expression into symbols. It drops the parentheses and renames the
// closing bracket to X.
func listOpsSymbols(expression string) []string {
	return strings.Fields(strings.NewReplacer("]", "X", "(", " ", ")", " ").Replace(expression))
}

// EvaluateListOps returns the value of an expression such as "[MAX 2 9 [MIN 4 7 ] 0 ]". The
// operators are MIN, MAX, MED, SM (the sum modulo 10), FIRST and LAST. Parentheses are ignored. MED
// of an even number of values is the mean of the two in the middle, rounded down.
func EvaluateListOps(expression string) (int, error) {
	symbols := listOpsSymbols(expression)
	v, rest, err := listOpsValue(symbols)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%q after the end of the expression", rest[0])
	}
	if err != nil {
		return 0, fmt.Errorf("task: listops: %w", err)
	}
	return v, nil
}

func listOpsValue(symbols []string) (v int, rest []string, err error) {
	if len(symbols) == 0 {
		return 0, nil, errors.New("the expression is truncated")
	}
	s, rest := symbols[0], symbols[1:]
	if len(s) == 1 && s[0] >= '0' && s[0] <= '9' {
		return int(s[0] - '0'), rest, nil
	}
	var args []int
	for len(rest) > 0 && rest[0] != "X" {
		var a int
		if a, rest, err = listOpsValue(rest); err != nil {
			return 0, nil, err
		}
		args = append(args, a)
	}
	switch {
	case !slices.Contains([]string{"[MIN", "[MAX", "[MED", "[SM", "[FIRST", "[LAST"}, s):
		return 0, nil, fmt.Errorf("%q is neither a digit nor an operator", s)
	case len(rest) == 0:
		return 0, nil, fmt.Errorf("%s is not closed", s)
	case len(args) == 0:
		return 0, nil, fmt.Errorf("%s has no arguments", s)
	}
	return listOpsApply(s[1:], args), rest[1:], nil
}

// listOpsApply applies an operator to at least one value. It sorts args.
func listOpsApply(op string, args []int) int {
	first, last, sum := args[0], args[len(args)-1], 0
	for _, a := range args {
		sum += a
	}
	slices.Sort(args)
	switch n := len(args); op {
	case "MIN":
		return args[0]
	case "MAX":
		return args[n-1]
	case "MED":
		return (args[(n-1)/2] + args[n/2]) / 2
	case "FIRST":
		return first
	case "LAST":
		return last
	}
	return sum % 10
}
