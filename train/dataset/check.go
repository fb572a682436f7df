package dataset

import (
	"fmt"
	"math"

	"github.com/s4d-fast/s4d-fast/model"
)

// Check returns an error if an example does not fit the description: if it has the wrong number of
// samples, tokens, labels or targets, a token or label that does not exist, or a sample or target
// that is no finite number. A target per position may be NaN: it is not scored.
func (i Info) Check(e *Example) error {
	if n := max(e.Len, len(e.Other)); e.Len < 1 || n > i.MaxLen {
		return fmt.Errorf("length %d, expected 1 … %d", n, i.MaxLen)
	}
	tokens := 0
	if i.Channels == 0 {
		tokens = e.Len
	}
	switch {
	case len(e.X) != i.Channels*e.Len || len(e.Tokens) != tokens:
		return fmt.Errorf("%d samples and %d tokens, expected %d and %d for a length of %d", len(e.X), len(e.Tokens), i.Channels*e.Len, tokens, e.Len)
	case i.Pairs != (len(e.Other) > 0):
		return fmt.Errorf("a second sequence of %d tokens, expected one in every example of pairs, and none otherwise", len(e.Other))
	}
	if err := i.finite(e); err != nil {
		return err
	}
	for _, ids := range [][]int32{e.Tokens, e.Other} {
		if err := model.CheckTokens(ids, i.Vocab); err != nil {
			return err
		}
	}
	if i.Regression {
		if n := i.Outputs * i.positions(e); len(e.Target) != n || n == 0 {
			return fmt.Errorf("%d target values, expected %d", len(e.Target), max(n, 1))
		}
		return nil
	}
	return i.checkLabels(e)
}

// finite returns an error for the first sample that is not finite, or target that is infinite or,
// where every target counts, not a number.
func (i Info) finite(e *Example) error {
	for k, v := range e.X {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("sample %d is %v, expected a number", k, v)
		}
	}
	for k, v := range e.Target {
		if math.IsNaN(float64(v)) && !i.PerPosition || math.IsInf(float64(v), 0) {
			return fmt.Errorf("target %d is %v, expected a number", k, v)
		}
	}
	return nil
}

// checkLabels is Check for the labels of a classification.
func (i Info) checkLabels(e *Example) error {
	switch {
	case !i.PerPosition && (e.Label < 0 || e.Label >= i.Outputs):
		return fmt.Errorf("label %d, expected 0 … %d", e.Label, i.Outputs-1)
	case i.PerPosition && len(e.Labels) != e.Len:
		return fmt.Errorf("%d labels, expected one for each of %d positions", len(e.Labels), e.Len)
	case !i.PerPosition:
		return nil
	}
	for k, label := range e.Labels {
		if label < -1 || int(label) >= i.Outputs {
			return fmt.Errorf("label %d at position %d, expected −1 … %d", label, k, i.Outputs-1)
		}
	}
	return nil
}

// positions returns the number of targets per output of an example.
func (i Info) positions(e *Example) int {
	if i.PerPosition {
		return max(e.Len, 1)
	}
	return 1
}
