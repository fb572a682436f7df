package dataset

import (
	"cmp"
	"fmt"

	"github.com/s4d-fast/s4d-fast/model"
)

// Check returns an error if an example does not fit the description: if it has the wrong number of
// samples, tokens, labels or targets, a token or label that does not exist, or a sample or target
// that is no finite number. A target per position may be NaN: it is not scored.
func (i Info) Check(e *Example) error {
	if n := max(e.Len, len(e.Other)); e.Len < 1 || n > i.MaxLen {
		return fmt.Errorf("length %d, expected 1 … %d", n, i.MaxLen)
	}
	tokens, targets := 0, i.Outputs*i.positions(e)
	if i.Channels == 0 {
		tokens = e.Len
	}
	switch {
	case len(e.X) != i.Channels*e.Len || len(e.Tokens) != tokens:
		return fmt.Errorf("%d samples and %d tokens, expected %d and %d for a length of %d", len(e.X), len(e.Tokens), i.Channels*e.Len, tokens, e.Len)
	case i.Pairs != (len(e.Other) > 0):
		return fmt.Errorf("a second sequence of %d tokens, expected one in every example of pairs, and none otherwise", len(e.Other))
	case i.Regression && (len(e.Target) != targets || targets == 0):
		return fmt.Errorf("%d target values, expected %d", len(e.Target), max(targets, 1))
	case !i.Regression && !i.PerPosition && (e.Label < 0 || e.Label >= i.Outputs):
		return fmt.Errorf("label %d, expected 0 … %d", e.Label, i.Outputs-1)
	case !i.Regression && i.PerPosition && len(e.Labels) != e.Len:
		return fmt.Errorf("%d labels, expected one for each of %d positions", len(e.Labels), e.Len)
	}
	for k, v := range e.X {
		if v-v != 0 {
			return fmt.Errorf("sample %d is %v, expected a number", k, v)
		}
	}
	for k, v := range e.Target {
		if v-v != 0 && (v == v || !i.PerPosition) {
			return fmt.Errorf("target %d is %v, expected a number", k, v)
		}
	}
	for k, label := range e.Labels {
		if !i.Regression && i.PerPosition && (label < -1 || int(label) >= i.Outputs) {
			return fmt.Errorf("label %d at position %d, expected −1 … %d", label, k, i.Outputs-1)
		}
	}
	return cmp.Or(model.CheckTokens(e.Tokens, i.Vocab), model.CheckTokens(e.Other, i.Vocab))
}

// positions returns the number of targets per output of an example.
func (i Info) positions(e *Example) int {
	if i.PerPosition {
		return max(e.Len, 1)
	}
	return 1
}
