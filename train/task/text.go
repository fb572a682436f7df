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
	register(Task{name: "text", source: textSource, options: noOptions(loadText)})
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
	trained, err := readReviews(ctx, filepath.Join(dir, "train"), src)
	if err != nil {
		return nil, err
	}
	counts := map[rune]int{}
	for _, r := range trained {
		for _, c := range r.text {
			counts[c]++
		}
	}
	v := newVocabulary(counts, textLeast)
	examples := encodeReviews(trained, v)
	hasTest, err := datafile.IsFolder(filepath.Join(dir, "test"))
	if err != nil {
		return nil, err
	}
	sets := map[split]dataset.Set{}
	if !hasTest {
		n := len(examples)
		parts := dataset.RandomSplit(42, n-n/10, n/10)
		sets[valSplit], examples = dataset.InMemory(pick(examples, parts[1])), pick(examples, parts[0])
	} else if src.includes(valSplit) || src.includes(testSplit) {
		tested, err := readReviews(ctx, filepath.Join(dir, "test"), src)
		if err != nil {
			return nil, err
		}
		sets[testSplit] = dataset.InMemory(encodeReviews(tested, v))
		sets[valSplit] = sets[testSplit]
	}
	sets[trainSplit] = dataset.InMemory(examples)
	return tokenDataset(dataset.Info{Vocab: v.size(), Labels: []string{"neg", "pos"}}, src, sets), nil
}

// review is a film review, truncated to textMax characters.
type review struct {
	text, path string
	label      int
}

// encodeReviews returns reviews as examples.
func encodeReviews(reviews []review, v vocabulary[rune]) []dataset.Example {
	examples := make([]dataset.Example, len(reviews))
	for i, r := range reviews {
		tokens := v.encode([]rune(r.text))
		examples[i] = dataset.Example{Tokens: tokens, Len: len(tokens), Label: r.label, Path: r.path}
	}
	return examples
}

// readReviews reads the reviews of a folder in the order of their names, the negative ones first.
func readReviews(ctx context.Context, dir string, src Source) (reviews []review, err error) {
	for label, class := range []string{"neg", "pos"} {
		files, err := os.ReadDir(filepath.Join(dir, class))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".txt") {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := review{path: filepath.Join(dir, class, f.Name()), label: label}
			err := datafile.Parse(r.path, func(in io.Reader) (err error) {
				r.text, err = firstOf(in, textMax)
				return err
			})
			if err != nil {
				return nil, err
			}
			reviews = append(reviews, r)
			src.progress(len(reviews), max(len(reviews), 2*len(files)))
		}
	}
	if len(reviews) == 0 {
		return nil, fmt.Errorf("%s contains no reviews neg/*.txt and pos/*.txt", dir)
	}
	return reviews, nil
}
