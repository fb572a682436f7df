package task

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func init() {
	register(Task{name: "text", help: "Sentiment of film reviews, character by character.", source: textSource, options: noOptions(loadText)})
}

const textSource = "the Large Movie Review Dataset is published at ai.stanford.edu/~amaas/data/sentiment: pass its folder aclImdb"

// Constants of docs/maths.md §5.3.
const (
	textMax   = 4095 // largest number of characters of a review without the end token
	textLeast = 15   // rarer characters of the training set share the token of unknown ones
)

// loadText loads the reviews train/{neg,pos}/*.txt and test/{neg,pos}/*.txt as sequences of
// characters. As in the official code, the test set is also the validation set. Without a test set,
// PyTorch's random_split with seed 42 selects a tenth of the training reviews for validation.
func loadText(ctx context.Context, src Source) (*dataset.Dataset, error) {
	dir, err := folderIn(src.Dir, "aclImdb")
	if err != nil {
		return nil, err
	}
	texts, trained, err := readReviews(ctx, filepath.Join(dir, "train"), src)
	if err != nil {
		return nil, err
	}
	counts := map[rune]int{}
	for _, text := range texts {
		for _, c := range text {
			counts[c]++
		}
	}
	v, err := newVocabulary(counts, textLeast)
	if err != nil {
		return nil, err
	}
	trained.tokens = encodeTexts(texts, v)

	sets := map[split]*tokenSet{trainSplit: trained}
	hasTest, err := datafile.IsFolder(filepath.Join(dir, "test"))
	if err != nil {
		return nil, err
	}
	if hasTest {
		if src.includes(valSplit) || src.includes(testSplit) {
			texts, tested, err := readReviews(ctx, filepath.Join(dir, "test"), src)
			if err != nil {
				return nil, err
			}
			tested.tokens = encodeTexts(texts, v)
			sets[valSplit], sets[testSplit] = tested, tested
		}
	} else {
		n := trained.Len()
		parts := dataset.RandomSplit(42, n-n/10, n/10)
		sets[trainSplit], sets[valSplit] = trained.pick(parts[0]), trained.pick(parts[1])
	}
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: []string{"neg", "pos"}}, src, sets), nil
}

// readReviews reads the reviews of a folder in the order of their names, the negative ones first.
func readReviews(ctx context.Context, dir string, src Source) (texts []string, set *tokenSet, err error) {
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
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			path := filepath.Join(dir, class, f.Name())
			err := datafile.Parse(path, func(r io.Reader) error {
				text, err := firstOf(r, textMax)
				texts = append(texts, text)
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			set.labels, set.paths = append(set.labels, label), append(set.paths, path)
			src.progress(len(texts), max(len(texts), 2*len(files)))
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
