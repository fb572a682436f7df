package dataset

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Tokens that every vocabulary begins with (docs/maths.md §5.3). Padding is never part of an example here: true lengths mask it.
const (
	tokenPad = iota
	tokenUnknown
	tokenEnd
	tokensOwn // how many
)

// vocabulary numbers symbols of a training set by how often they occur, most often first, ties in their order.
type vocabulary[S cmp.Ordered] map[S]int

// newVocabulary counts symbols; those that occur fewer than least times become unknown.
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
		v[s] = tokensOwn + i
	}
	return v
}

// size counts all tokens.
func (v vocabulary[S]) size() int { return tokensOwn + len(v) }

// encode appends the token of a symbol.
func (v vocabulary[S]) encode(dst []uint16, s S) []uint16 {
	if t, ok := v[s]; ok {
		return append(dst, uint16(t))
	}
	return append(dst, tokenUnknown)
}

// firstCharacters cuts a text to n characters.
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

// encodeTexts returns the tokens of the first most characters of each text, and the end's.
func encodeTexts(texts []string, v vocabulary[rune], most int) [][]uint16 {
	all := make([][]uint16, 0, len(texts))
	for _, text := range texts {
		tokens := make([]uint16, 0, min(len(text), most)+1)
		for _, c := range text {
			if len(tokens) == most {
				break
			}
			tokens = v.encode(tokens, c)
		}
		all = append(all, append(tokens, tokenEnd))
	}
	return all
}

// tokenSet is sequences of tokens, or pairs of them, with a class each.
type tokenSet struct {
	tokens [][]uint16
	others [][]uint16 // of pairs: the second ones
	labels []int
	paths  []string // of texts in files of their own
}

func (s *tokenSet) Len() int { return len(s.tokens) }

func (s *tokenSet) Length(i int) int {
	if s.others == nil {
		return len(s.tokens[i])
	}
	return max(len(s.tokens[i]), len(s.others[i]))
}

func (s *tokenSet) Example(dst *Example, i, _ int) error {
	if i < 0 || i >= len(s.tokens) {
		return outOfRange(i, len(s.tokens))
	}
	*dst = Example{
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

// tokenDataset makes a data set of what was asked for of three splits.
func tokenDataset(info Info, opt Options, sets map[split]*tokenSet) *Dataset {
	d := &Dataset{Info: info}
	d.Outputs = len(info.Labels)
	for s, dst := range map[split]*Set{train: &d.Train, val: &d.Val, test: &d.Test} {
		if set := sets[s]; set != nil && set.Len() > 0 && opt.wants(s) {
			*dst = set
			d.MaxLen = max(d.MaxLen, slices.Max(Lengths(set)))
		}
	}
	return d
}
