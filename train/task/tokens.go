package task

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// The first tokens of every vocabulary (docs/maths.md §5.3). Examples contain no padding: they have
// their own lengths.
const (
	tokenPad = iota
	tokenUnknown
	tokenEnd
	tokensReserved // their number
)

// vocabulary maps the symbols of a training set to tokens, the most frequent first, ties in the
// order of the symbols.
type vocabulary[S cmp.Ordered] map[S]int32

// newVocabulary returns the vocabulary of the symbols that occur at least least times. The others
// are unknown.
func newVocabulary[S cmp.Ordered](counts map[S]int, least int) vocabulary[S] {
	var symbols []S
	for s, n := range counts {
		if n >= least {
			symbols = append(symbols, s)
		}
	}
	slices.SortFunc(symbols, func(a, b S) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	v := vocabulary[S]{}
	for i, s := range symbols {
		v[s] = int32(tokensReserved + i)
	}
	return v
}

// size returns the number of tokens.
func (v vocabulary[S]) size() int { return tokensReserved + len(v) }

// encode returns the tokens of symbols, and the end token.
func (v vocabulary[S]) encode(symbols []S) []int32 {
	tokens := make([]int32, 0, len(symbols)+1)
	for _, s := range symbols {
		t, ok := v[s]
		if !ok {
			t = tokenUnknown
		}
		tokens = append(tokens, t)
	}
	return append(tokens, tokenEnd)
}

// firstCharacters truncates a text to n characters.
func firstCharacters(text string, n int) string {
	for at := range text {
		if n--; n < 0 {
			return text[:at]
		}
	}
	return text
}

// firstOf reads the first n characters of a text. It reads no further than they can reach.
func firstOf(r io.Reader, n int) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(n)*utf8.UTFMax))
	if err != nil {
		return "", err
	}
	return strings.Clone(firstCharacters(string(text), n)), nil
}

// tokenSplits calls read for the training set, which determines the vocabulary, and for the other
// requested splits. Their files may be missing.
func (s Source) tokenSplits(read func(split) error) error {
	for part := range splits(&dataset.Dataset{}) {
		if part != trainSplit && !s.includes(part) {
			continue
		}
		if err := read(part); err != nil && (part == trainSplit || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// tokenDataset returns the data set of the requested splits.
func tokenDataset(info dataset.Info, src Source, sets map[split]dataset.Set) *dataset.Dataset {
	d := &dataset.Dataset{Info: info}
	d.Outputs = len(info.Labels)
	for part, dst := range splits(d) {
		*dst = sets[part]
	}
	src.restrict(d)
	return d
}
