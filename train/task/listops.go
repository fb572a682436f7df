package task

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	v, err := newVocabulary(counts, 1)
	if err != nil {
		return nil, err
	}
	for s, lines := range texts {
		for _, symbols := range lines {
			tokens := make([]uint16, 0, len(symbols)+1)
			for _, x := range symbols {
				tokens = v.encode(tokens, x)
			}
			sets[s].tokens = append(sets[s].tokens, append(tokens, tokenEnd))
		}
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: strings.Split("0123456789", "")}, src, sets), nil
}

func readListOps(path string) (lines [][]string, labels []int, err error) {
	f, err := datafile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if lines, labels, err = parseListOps(f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) == 0 {
		return nil, nil, fmt.Errorf("%s contains no expressions", path)
	}
	return lines, labels, nil
}

// parseListOps returns the first listOpsMax symbols and the value of every expression. Equal
// symbols share their bytes.
func parseListOps(r io.Reader) (lines [][]string, labels []int, err error) {
	header, known := true, map[string]string{}
	err = datafile.EachLine(r, listOpsLine, func(line string) error {
		source, target, ok := strings.Cut(line, "\t")
		if header {
			if source != "Source" || strings.TrimSpace(target) != "Target" {
				return errors.New("expected the header: Source, a tab, Target")
			}
			header = false
			return nil
		}
		label, err := strconv.Atoi(strings.TrimSpace(target))
		if !ok || err != nil || label < 0 || label > 9 {
			return errors.New("expected an expression, a tab and a digit")
		}
		symbols := listOpsSymbols(source)
		symbols = slices.Clone(symbols[:min(len(symbols), listOpsMax)])
		for i, s := range symbols {
			if known[s] == "" {
				if len(known) == maxVocabulary {
					return fmt.Errorf("more than %d different symbols", maxVocabulary)
				}
				s = strings.Clone(s) // a part of the line would keep the line
				known[s] = s
			}
			symbols[i] = known[s]
		}
		lines, labels = append(lines, symbols), append(labels, label)
		return nil
	})
	return lines, labels, err
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
	v, rest, err := listOpsValue(symbols, 0)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%.20q after the end of the expression", rest[0])
	}
	if err != nil {
		return 0, fmt.Errorf("task: listops: %w", err)
	}
	return v, nil
}

// listOpsNesting bounds the depth of an expression, far above that of the data.
const listOpsNesting = 1000

func listOpsValue(symbols []string, depth int) (v int, rest []string, err error) {
	if depth > listOpsNesting {
		return 0, nil, fmt.Errorf("operators nested more than %d deep", listOpsNesting)
	}
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
		if a, rest, err = listOpsValue(rest, depth+1); err != nil {
			return 0, nil, err
		}
		args = append(args, a)
	}
	switch {
	case !slices.Contains([]string{"[MIN", "[MAX", "[MED", "[SM", "[FIRST", "[LAST"}, s):
		return 0, nil, fmt.Errorf("%.20q is neither a digit nor an operator", s)
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
