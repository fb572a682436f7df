package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	register(Task{name: "retrieval", source: retrievalSource, options: noOptions(loadRetrieval)})
}

const retrievalSource = "LRA's Retrieval, pairs of papers of the ACL Anthology Network, is published at github.com/google-research/long-range-arena: " +
	"pass the folder of new_aan_pairs.train.tsv, new_aan_pairs.eval.tsv and new_aan_pairs.test.tsv, or lra_release, which contains them in tsv_data"

// retrievalMax is the largest number of characters of a paper without the end token (docs/maths.md
// §5.3).
const retrievalMax = 3999

// loadRetrieval loads pairs of papers as sequences of characters. The label says whether they are
// linked. The training file determines the vocabulary.
func loadRetrieval(ctx context.Context, src Source) (*dataset.Dataset, error) {
	dir, err := folderIn(src.Dir, "tsv_data")
	if err != nil {
		return nil, err
	}
	papers := paperSet{index: map[string]int{}}
	pairs := map[split][]paperPair{}
	err = src.tokenSplits(func(s split) (err error) {
		name := string(s)
		if s == valSplit {
			name = "eval"
		}
		return datafile.Parse(filepath.Join(dir, "new_aan_pairs."+name+".tsv"), func(r io.Reader) error {
			pairs[s], err = papers.parse(ctx, r)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	v := papers.vocabulary(pairs[trainSplit])
	tokens := make([][]int32, len(papers.texts))
	for i, text := range papers.texts {
		tokens[i] = v.encode([]rune(text))
	}
	sets := map[split]dataset.Set{}
	for s, list := range pairs {
		examples := make([]dataset.Example, len(list))
		for i, p := range list {
			first := tokens[p.first]
			examples[i] = dataset.Example{Tokens: first, Other: tokens[p.second], Len: len(first), Label: p.label}
		}
		sets[s] = dataset.InMemory(examples)
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: []string{"unlinked", "linked"}, Pairs: true}, src, sets), nil
}

// paperSet contains each paper once: a paper is part of many pairs.
type paperSet struct {
	texts []string // truncated to retrievalMax characters
	index map[string]int
}

// paperPair is a pair of numbers of papers.
type paperPair struct{ first, second, label int }

// longestPair is the size of the longest line.
const longestPair = 16 << 20

// parse reads tab-separated lines: a label (0, 0.0, 1 or 1.0), two names and two texts.
func (s *paperSet) parse(ctx context.Context, r io.Reader) (pairs []paperPair, err error) {
	err = datafile.EachLine(r, longestPair, func(line string) error {
		p, err := s.pair(line)
		pairs = append(pairs, p)
		return cmp.Or(ctx.Err(), err)
	})
	if err == nil && len(pairs) == 0 {
		err = errors.New("no pairs")
	}
	return pairs, err
}

// pair returns a line's pair.
func (s *paperSet) pair(line string) (p paperPair, err error) {
	if n := strings.Count(line, "\t") + 1; n != 5 {
		return p, fmt.Errorf("%d fields, expected a label, two names and two texts", n)
	}
	fields := strings.Split(line, "\t")
	switch fields[0] {
	case "0", "0.0":
	case "1", "1.0":
		p.label = 1
	default:
		return p, fmt.Errorf("label %.20q, expected 0 or 1", fields[0])
	}
	p.first, p.second = s.number(fields[3]), s.number(fields[4])
	return p, nil
}

// number returns the number of a paper and adds a new one.
func (s *paperSet) number(text string) int {
	text = firstCharacters(text, retrievalMax)
	i, ok := s.index[text]
	if !ok {
		i = len(s.texts)
		text = strings.Clone(text) // so that the line can be freed
		s.texts, s.index[text] = append(s.texts, text), i
	}
	return i
}

// vocabulary counts the characters of a paper once for every pair that it is part of.
func (s *paperSet) vocabulary(pairs []paperPair) vocabulary[rune] {
	uses := make([]int, len(s.texts))
	for _, p := range pairs {
		uses[p.first]++
		uses[p.second]++
	}
	counts := map[rune]int{}
	for i, n := range uses {
		for _, c := range s.texts[i] {
			counts[c] += n
		}
	}
	return newVocabulary(counts, 1)
}
