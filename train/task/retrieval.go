package task

import (
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
	register(Task{name: "retrieval", help: "Pairs of papers, linked or not, of the Long Range Arena.", source: retrievalSource, options: noOptions(loadRetrieval)})
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
	pairs := map[split]*paperPairs{}
	err = src.tokenSplits(func(s split) (err error) {
		name := string(s)
		if s == valSplit {
			name = "eval"
		}
		pairs[s], err = papers.read(ctx, filepath.Join(dir, "new_aan_pairs."+name+".tsv"))
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := papers.vocabulary(pairs[trainSplit])
	if err != nil {
		return nil, err
	}
	tokens := encodeTexts(papers.texts, v)
	sets := map[split]*tokenSet{}
	for s, p := range pairs {
		set := &tokenSet{labels: p.labels}
		for i := range p.first {
			set.tokens, set.others = append(set.tokens, tokens[p.first[i]]), append(set.others, tokens[p.second[i]])
		}
		sets[s] = set
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: []string{"unlinked", "linked"}, Pairs: true}, src, sets), nil
}

// paperSet contains each paper once: a paper is part of many pairs.
type paperSet struct {
	texts []string // truncated to retrievalMax characters
	index map[string]int
}

// paperPairs are pairs of numbers of papers.
type paperPairs struct {
	first, second []int
	labels        []int
}

// longestPair is the size of the longest line.
const longestPair = 16 << 20

// read reads a file of tab-separated lines: a label (0, 0.0, 1 or 1.0), two names and two texts.
func (s *paperSet) read(ctx context.Context, path string) (*paperPairs, error) {
	p := &paperPairs{}
	err := datafile.Parse(path, func(r io.Reader) error {
		err := s.parse(ctx, p, r)
		if err == nil && len(p.labels) == 0 {
			err = errors.New("no pairs")
		}
		return err
	})
	return p, err
}

// parse adds the pairs of a file.
func (s *paperSet) parse(ctx context.Context, p *paperPairs, r io.Reader) error {
	return datafile.EachLine(r, longestPair, func(line string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.add(p, line)
	})
}

// add adds a line's pair.
func (s *paperSet) add(p *paperPairs, line string) error {
	if n := strings.Count(line, "\t") + 1; n != 5 {
		return fmt.Errorf("%d fields, expected a label, two names and two texts", n)
	}
	fields := strings.Split(line, "\t")
	label := 0
	switch fields[0] {
	case "0", "0.0":
	case "1", "1.0":
		label = 1
	default:
		return fmt.Errorf("label %.20q, expected 0 or 1", fields[0])
	}
	p.labels = append(p.labels, label)
	p.first, p.second = append(p.first, s.number(fields[3])), append(p.second, s.number(fields[4]))
	return nil
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
func (s *paperSet) vocabulary(p *paperPairs) (vocabulary[rune], error) {
	uses := make([]int, len(s.texts))
	for i := range p.first {
		uses[p.first[i]]++
		uses[p.second[i]]++
	}
	counts := map[rune]int{}
	for i, n := range uses {
		if n == 0 { // of another file
			continue
		}
		for _, c := range s.texts[i] {
			counts[c] += n
		}
	}
	return newVocabulary(counts, 1)
}
