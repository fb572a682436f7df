package task

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	register(Task{name: "listops", source: listOpsSource, options: noOptions(loadListOps)})
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
func loadListOps(ctx context.Context, src Source) (*dataset.Dataset, error) {
	texts, labels := map[split][][]string{}, map[split][]int{}
	err := src.tokenSplits(func(s split) (err error) {
		texts[s], labels[s], err = readListOps(filepath.Join(src.Dir, "basic_"+string(s)+".tsv"))
		return err
	})
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, symbols := range texts[trainSplit] {
		for _, s := range symbols {
			counts[s]++
		}
	}
	v, sets := newVocabulary(counts, 1), map[split]dataset.Set{}
	for s, lines := range texts {
		examples := make([]dataset.Example, len(lines))
		for i, symbols := range lines {
			examples[i] = dataset.Example{Tokens: v.encode(symbols), Len: len(symbols) + 1, Label: labels[s][i]}
		}
		sets[s] = dataset.InMemory(examples)
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: strings.Split("0123456789", "")}, src, sets), nil
}

func readListOps(path string) (lines [][]string, labels []int, err error) {
	err = datafile.Parse(path, func(r io.Reader) error {
		if lines, labels, err = parseListOps(r); err == nil && len(lines) == 0 {
			err = errors.New("no expressions")
		}
		return err
	})
	return lines, labels, err
}

// parseListOps returns the first listOpsMax symbols and the value of every expression. Equal
// symbols share their bytes.
func parseListOps(r io.Reader) (lines [][]string, labels []int, err error) {
	header := true
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
		symbols := strings.Fields(strings.NewReplacer("]", "X", "(", " ", ")", " ").Replace(source))
		symbols = slices.Clone(symbols[:min(len(symbols), listOpsMax)])
		for i, s := range symbols {
			symbols[i] = unique.Make(s).Value() // a part of the line would keep the line
		}
		lines, labels = append(lines, symbols), append(labels, label)
		return nil
	})
	return lines, labels, err
}
