package task

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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

// maxVocabulary is the number of symbols that tokens can number.
const maxVocabulary = math.MaxUint16 + 1 - tokensReserved

// vocabulary maps the symbols of a training set to tokens, the most frequent first, ties in the
// order of the symbols.
type vocabulary[S cmp.Ordered] map[S]int

// newVocabulary returns the vocabulary of the symbols that occur at least least times. The others
// are unknown. More symbols than a token can number are an error.
func newVocabulary[S cmp.Ordered](counts map[S]int, least int) (vocabulary[S], error) {
	var symbols []S
	for s, n := range counts {
		if n >= least {
			symbols = append(symbols, s)
		}
	}
	if len(symbols) > maxVocabulary {
		return nil, fmt.Errorf("task: the training set has %d symbols, expected at most %d", len(symbols), maxVocabulary)
	}
	slices.SortFunc(symbols, func(a, b S) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	v := vocabulary[S]{}
	for i, s := range symbols {
		v[s] = tokensReserved + i
	}
	return v, nil
}

// size returns the number of tokens.
func (v vocabulary[S]) size() int { return tokensReserved + len(v) }

// encode appends the token of a symbol.
func (v vocabulary[S]) encode(dst []uint16, s S) []uint16 {
	if t, ok := v[s]; ok {
		return append(dst, uint16(t))
	}
	return append(dst, tokenUnknown)
}

// firstCharacters truncates a text to n characters.
func firstCharacters(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[at:])
		if at += size; at == len(text) {
			break
		}
	}
	return text[:at]
}

// firstOf reads the first n characters of a text. It reads no further than they can reach.
func firstOf(r io.Reader, n int) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(n)*utf8.UTFMax))
	if err != nil {
		return "", err
	}
	return strings.Clone(firstCharacters(string(text), n)), nil
}

// encodeTexts returns, for each text, the tokens of its characters and the end token.
func encodeTexts(texts []string, v vocabulary[rune]) [][]uint16 {
	all := make([][]uint16, 0, len(texts))
	for _, text := range texts {
		tokens := make([]uint16, 0, len(text)+1)
		for _, c := range text {
			tokens = v.encode(tokens, c)
		}
		all = append(all, append(tokens, tokenEnd))
	}
	return all
}

// tokenSet is a set of sequences of tokens, or of pairs of them, with one label each.
type tokenSet struct {
	tokens [][]uint16
	others [][]uint16 // second sequences of pairs
	labels []int
	paths  []string // nil if a file contains many texts
}

func (s *tokenSet) Len() int { return len(s.tokens) }

func (s *tokenSet) Length(i int) int {
	if s.others == nil {
		return len(s.tokens[i])
	}
	return max(len(s.tokens[i]), len(s.others[i]))
}

func (s *tokenSet) Example(dst *dataset.Example, i, _ int) error {
	*dst = dataset.Example{
		X: dst.X[:0], Tokens: appendTokens(dst.Tokens[:0], s.tokens[i]), Other: dst.Other[:0],
		Len: len(s.tokens[i]), Label: s.labels[i], Target: dst.Target[:0],
	}
	if s.others != nil {
		dst.Other = appendTokens(dst.Other, s.others[i])
	}
	if s.paths != nil {
		dst.Path = s.paths[i]
	}
	return nil
}

func appendTokens(dst []int32, tokens []uint16) []int32 {
	for _, t := range tokens {
		dst = append(dst, int32(t))
	}
	return dst
}

// Identity identifies an example by its tokens.
func (s *tokenSet) Identity(i int) dataset.Identity {
	id := dataset.Identity{Label: s.labels[i], Samples: []any{s.tokens[i]}}
	if s.paths != nil {
		id.Path = s.paths[i]
	}
	if s.others != nil {
		id.Samples = append(id.Samples, s.others[i])
	}
	return id
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
func tokenDataset(info dataset.Info, src Source, sets map[split]*tokenSet) *dataset.Dataset {
	d := &dataset.Dataset{Info: info}
	d.Outputs = len(info.Labels)
	for part, dst := range splits(d) {
		if set := sets[part]; set != nil && set.Len() > 0 {
			*dst = set
		}
	}
	src.restrict(d)
	return d
}
