package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const textSource = "the Large Movie Review Dataset is published at ai.stanford.edu/~amaas/data/sentiment: pass its folder aclImdb"

// Constants of docs/maths.md §5.3.
const (
	textMax   = 4095 // largest number of characters of a review without the end token
	textLeast = 15   // rarer characters of the training set share the token of unknown ones
)

// loadText loads the reviews train/{neg,pos}/*.txt and test/{neg,pos}/*.txt as sequences of
// characters. As in the official code, the test set is also the validation set. Without a test set,
// PyTorch's random_split with seed 42 selects a tenth of the training reviews for validation.
func loadText(opt Options) (*Dataset, error) {
	if err := opt.rejectClipOptions(); err != nil {
		return nil, err
	}
	if _, err := readFolder(opt.Dir, textSource); err != nil {
		return nil, err
	}
	dir := opt.Dir
	if inner := filepath.Join(dir, "aclImdb"); isFolder(inner) {
		dir = inner
	}
	texts, trained, err := readReviews(filepath.Join(dir, "train"), opt)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; %s", err, textSource)
	}
	if err != nil {
		return nil, err
	}
	counts := map[rune]int{}
	for _, text := range texts {
		for _, c := range firstCharacters(text, textMax) {
			counts[c]++
		}
	}
	v := newVocabulary(counts, textLeast)
	trained.tokens = encodeTexts(texts, v, textMax)

	sets := map[split]*tokenSet{train: trained}
	if isFolder(filepath.Join(dir, "test")) {
		if opt.includes(val) || opt.includes(test) {
			texts, tested, err := readReviews(filepath.Join(dir, "test"), opt)
			if err != nil {
				return nil, err
			}
			tested.tokens = encodeTexts(texts, v, textMax)
			sets[val], sets[test] = tested, tested
		}
	} else {
		n := trained.Len()
		parts := RandomSplit(42, n-n/10, n/10)
		sets[train], sets[val] = trained.pick(parts[0]), trained.pick(parts[1])
	}
	return tokenDataset(Info{Task: "text", Vocab: v.size(), Labels: []string{"neg", "pos"}}, opt, sets), nil
}

// readReviews reads the reviews of a folder in the order of their names, the negative ones first.
func readReviews(dir string, opt Options) (texts []string, set *tokenSet, err error) {
	set = &tokenSet{}
	for label, class := range []string{"neg", "pos"} {
		files, err := os.ReadDir(filepath.Join(dir, class))
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".txt") {
				continue
			}
			if err := opt.Context.Err(); err != nil {
				return nil, nil, err
			}
			path := filepath.Join(dir, class, f.Name())
			text, err := readFile(path)
			if err != nil {
				return nil, nil, err
			}
			texts = append(texts, string(text))
			set.labels, set.paths = append(set.labels, label), append(set.paths, path)
			if opt.Progress != nil {
				opt.Progress(len(texts), max(len(texts), 2*len(files)))
			}
		}
	}
	if len(texts) == 0 {
		return nil, nil, fmt.Errorf("%s contains no reviews neg/*.txt and pos/*.txt", dir)
	}
	return texts, set, nil
}

// pick returns some of the examples.
func (s *tokenSet) pick(members []int) *tokenSet {
	out := &tokenSet{}
	for _, i := range members {
		out.tokens, out.labels, out.paths = append(out.tokens, s.tokens[i]), append(out.labels, s.labels[i]), append(out.paths, s.paths[i])
	}
	return out
}
